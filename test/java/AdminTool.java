import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;

/**
 * Admin work by the stock Java client, one JSON value a line.
 *
 * create    --topic T --partitions N (1) --replication-factor N (1) --config NAME=VALUE ...
 * delete    --topic T
 * describe  --topic T                  {"topic","topicId","partitions":[{"partition","leader","replicas","isr"}]}
 * offsets   --topic T [--isolation I]  {"partition","begin","end"} for each; isolation read_committed gives the LSO as end
 * producers --topic T                  {"partition","producerId","epoch","lastSequence","openFrom"} for each; openFrom -1: none
 * configs   --topic T                  {"NAME":"VALUE"} of what is set on the topic itself
 * cluster                              {"clusterId","brokers"}
 * All take --bootstrap S.
 */
public class AdminTool {
    static Map<String, String> args = new HashMap<>();
    static Map<String, String> configs = new HashMap<>();

    public static void main(String[] argv) throws Exception {
        System.exit(run(argv));
    }

    public static int run(String[] argv) throws Exception {
        for (int i = 1; i + 1 < argv.length; i += 2) {
            String value = argv[i + 1];
            if (argv[i].equals("--config")) configs.put(value.substring(0, value.indexOf('=')), value.substring(value.indexOf('=') + 1));
            else args.put(argv[i].substring(2), value);
        }
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args.get("bootstrap"));
        String topic = args.get("topic");
        try (Admin admin = Admin.create(properties)) {
            switch (argv[0]) {
                case "create" -> create(admin, topic);
                case "delete" -> admin.deleteTopics(List.of(topic)).all().get();
                case "describe" -> describe(admin, topic);
                case "offsets" -> offsets(admin, topic);
                case "producers" -> producers(admin, topic);
                case "configs" -> topicConfigs(admin, topic);
                case "cluster" -> System.out.println("{\"clusterId\":\"" + admin.describeCluster().clusterId().get()
                    + "\",\"brokers\":" + admin.describeCluster().nodes().get().size() + "}");
                default -> throw new IllegalArgumentException("unknown command " + argv[0]);
            }
        }
        return 0;
    }

    static void create(Admin admin, String topic) throws Exception {
        int partitions = Integer.parseInt(args.getOrDefault("partitions", "1"));
        short replicas = Short.parseShort(args.getOrDefault("replication-factor", "1"));
        admin.createTopics(List.of(new NewTopic(topic, partitions, replicas).configs(configs))).all().get();
    }

    static TopicDescription description(Admin admin, String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
    }

    static void describe(Admin admin, String topic) throws Exception {
        TopicDescription description = description(admin, topic);
        List<String> partitions = new ArrayList<>();
        for (TopicPartitionInfo info : description.partitions()) {
            List<Integer> replicas = info.replicas().stream().map(node -> node.id()).toList();
            List<Integer> isr = info.isr().stream().map(node -> node.id()).toList();
            int leader = info.leader() == null ? -1 : info.leader().id();
            partitions.add("{\"partition\":" + info.partition() + ",\"leader\":" + leader + ",\"replicas\":" + replicas + ",\"isr\":" + isr + "}");
        }
        System.out.println("{\"topic\":\"" + topic + "\",\"topicId\":\"" + description.topicId() + "\",\"partitions\":[" + String.join(",", partitions) + "]}");
    }

    static void offsets(Admin admin, String topic) throws Exception {
        IsolationLevel level = args.getOrDefault("isolation", "read_uncommitted").equals("read_committed")
            ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED;
        Map<TopicPartition, OffsetSpec> earliest = new HashMap<>();
        Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
        for (TopicPartitionInfo info : description(admin, topic).partitions()) {
            earliest.put(new TopicPartition(topic, info.partition()), OffsetSpec.earliest());
            latest.put(new TopicPartition(topic, info.partition()), OffsetSpec.latest());
        }
        Map<TopicPartition, ListOffsetsResultInfo> begins = admin.listOffsets(earliest).all().get();
        Map<TopicPartition, ListOffsetsResultInfo> ends = admin.listOffsets(latest, new ListOffsetsOptions(level)).all().get();
        for (int p = 0; p < begins.size(); p++) {
            TopicPartition at = new TopicPartition(topic, p);
            System.out.println("{\"partition\":" + p + ",\"begin\":" + begins.get(at).offset() + ",\"end\":" + ends.get(at).offset() + "}");
        }
    }

    static void producers(Admin admin, String topic) throws Exception {
        List<TopicPartition> all = new ArrayList<>();
        for (TopicPartitionInfo info : description(admin, topic).partitions()) all.add(new TopicPartition(topic, info.partition()));
        var result = admin.describeProducers(all).all().get();
        for (TopicPartition at : all) {
            for (ProducerState state : result.get(at).activeProducers()) {
                System.out.println("{\"partition\":" + at.partition() + ",\"producerId\":" + state.producerId()
                    + ",\"epoch\":" + state.producerEpoch() + ",\"lastSequence\":" + state.lastSequence()
                    + ",\"openFrom\":" + state.currentTransactionStartOffset().orElse(-1L) + "}");
            }
        }
    }

    static void topicConfigs(Admin admin, String topic) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        TreeMap<String, String> own = new TreeMap<>();
        for (ConfigEntry entry : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
            if (entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG) own.put(entry.name(), entry.value());
        }
        List<String> pairs = new ArrayList<>();
        own.forEach((name, value) -> pairs.add("\"" + name + "\":\"" + value + "\""));
        System.out.println("{" + String.join(",", pairs) + "}");
    }
}
