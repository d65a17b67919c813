import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What the stock Java clients are answered, one "question = answer" or "question ! error" a line, without addresses and
 * times: run twice, directly and through a gateway, the lines must be equal. Works on topics, groups and transactional
 * ids of its own, which begin with --name and are printed without it.
 *
 * --bootstrap S --name N
 */
public class AdminEcho {
    interface Question {
        Object ask() throws Exception;
    }

    static String name;

    static void ask(String what, Question question) {
        String line;
        try {
            line = what + " = " + question.ask();
        } catch (Throwable thrown) {
            Throwable cause = thrown instanceof ExecutionException ? thrown.getCause() : thrown;
            line = what + " ! " + cause.getClass().getSimpleName() + ": " + cause.getMessage();
        }
        System.out.println(line.replace(name, "NAME").replace("\n", " "));
    }

    /** A change is answered by the controller before every broker shows it. */
    static void until(Callable<Boolean> shown) throws Exception {
        for (long end = System.currentTimeMillis() + 20_000; System.currentTimeMillis() < end; Thread.sleep(20)) {
            try {
                if (shown.call()) return;
            } catch (ExecutionException notYet) {
                // asked again
            }
        }
    }

    static <T> T get(KafkaFuture<T> future) throws Exception {
        return future.get(20, TimeUnit.SECONDS);
    }

    static <T> T only(Map<?, T> map) {
        return map.values().iterator().next();
    }

    public static void main(String[] argv) throws Exception {
        System.exit(run(argv));
    }

    public static int run(String[] argv) throws Exception {
        Map<String, String> args = new TreeMap<>();
        for (int i = 0; i + 1 < argv.length; i += 2) args.put(argv[i].substring(2), argv[i + 1]);
        name = args.get("name");
        Properties base = new Properties();
        base.put("bootstrap.servers", args.get("bootstrap"));
        try (Admin admin = Admin.create(base)) {
            topics(admin);
            records(admin, base);
            configs(admin);
            cluster(admin);
            groups(admin, base);
            transactions(admin, base);
            ask("delete", () -> get(admin.deleteTopics(List.of(name)).all()));
            ask("delete an unknown topic", () -> get(admin.deleteTopics(List.of(name + "-no")).all()));
        }
        return 0;
    }

    static void topics(Admin admin) throws Exception {
        ask("create", () -> get(admin.createTopics(List.of(new NewTopic(name, 2, (short) 1))).all()));
        ask("create again", () -> get(admin.createTopics(List.of(new NewTopic(name, 2, (short) 1))).all()));
        ask("grow", () -> get(admin.createPartitions(Map.of(name, NewPartitions.increaseTo(3))).all()));
        ask("shrink", () -> get(admin.createPartitions(Map.of(name, NewPartitions.increaseTo(1))).all()));
        until(() -> get(admin.describeTopics(List.of(name)).allTopicNames()).get(name).partitions().stream()
            .filter(one -> one.leader() != null).count() == 3);
        ask("listed", () -> get(admin.listTopics().names()).contains(name));
        ask("describe", () -> {
            TopicDescription topic = get(admin.describeTopics(List.of(name)).allTopicNames()).get(name);
            StringBuilder text = new StringBuilder();
            topic.partitions().forEach(one -> text.append(one.partition()).append(" led by ").append(one.leader().id())
                .append(one.replicas().size()).append(one.isr().size()).append(' '));
            return text;
        });
        ask("describe by id", () -> {
            TopicDescription topic = get(admin.describeTopics(List.of(name)).allTopicNames()).get(name);
            return only(get(admin.describeTopics(TopicCollection.ofTopicIds(List.of(topic.topicId()))).allTopicIds())).name();
        });
        ask("describe an unknown topic", () -> get(admin.describeTopics(List.of(name + "-no")).allTopicNames()));
    }

    static void records(Admin admin, Properties base) throws Exception {
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(producing(base))) {
            for (int i = 0; i < 60; i++) producer.send(new ProducerRecord<>(name, i % 3, null, new byte[10]));
            producer.flush();
        }
        TopicPartition first = new TopicPartition(name, 0);
        for (OffsetSpec spec : List.of(OffsetSpec.earliest(), OffsetSpec.latest(), OffsetSpec.forTimestamp(5)))
            ask("offset", () -> only(get(admin.listOffsets(Map.of(first, spec)).all())).offset());
        ask("delete records", () -> get(admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(5))).lowWatermarks().get(first)).lowWatermark());
        ask("delete records above the end", () -> get(admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(5000))).all()));
        ask("producers", () -> only(get(admin.describeProducers(List.of(first)).all())).activeProducers().size());
        ask("elect", () -> get(admin.electLeaders(ElectionType.PREFERRED, Set.of(first)).partitions()));
        ask("reassignments", () -> get(admin.listPartitionReassignments(Set.of(first)).reassignments()));
        ask("reassign to nobody", () -> get(admin.alterPartitionReassignments(Map.of(first, Optional.empty())).all()));
    }

    static void configs(Admin admin) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, name);
        for (String value : List.of("100000", "soon")) {
            AlterConfigOp set = new AlterConfigOp(new ConfigEntry("retention.ms", value), AlterConfigOp.OpType.SET);
            ask("set retention.ms", () -> get(admin.incrementalAlterConfigs(Map.of(topic, List.of(set))).all()));
        }
        until(() -> settings(admin, topic).get("retention.ms").equals("100000"));
        ask("topic settings", () -> settings(admin, topic));
        for (ConfigResource.Type type : List.of(ConfigResource.Type.BROKER, ConfigResource.Type.BROKER_LOGGER))
            ask("settings of a " + type, () -> only(get(admin.describeConfigs(List.of(new ConfigResource(type, "1"))).all())).entries().size());
    }

    static TreeMap<String, String> settings(Admin admin, ConfigResource resource) throws Exception {
        TreeMap<String, String> all = new TreeMap<>();
        only(get(admin.describeConfigs(List.of(resource)).all())).entries().forEach(entry -> all.put(entry.name(), entry.value()));
        return all;
    }

    static void cluster(Admin admin) throws Exception {
        ask("cluster", () -> {
            var cluster = admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(true));
            return get(cluster.clusterId()) + get(cluster.nodes()).stream().map(Node::id).toList() + get(cluster.controller()).id()
                + new TreeSet<>(get(cluster.authorizedOperations()));
        });
        ask("features", () -> new TreeMap<>(get(admin.describeFeatures().featureMetadata()).finalizedFeatures()));
        ask("update a feature", () -> get(admin.updateFeatures(
            Map.of("metadata.version", new FeatureUpdate((short) 999, FeatureUpdate.UpgradeType.UPGRADE)),
            new UpdateFeaturesOptions().validateOnly(true)).all()));
        ask("quorum", () -> {
            var quorum = get(admin.describeMetadataQuorum().quorumInfo());
            return quorum.leaderId() + " of " + quorum.voters().size();
        });
        ask("log dirs", () -> get(admin.describeReplicaLogDirs(Set.of(new TopicPartitionReplica(name, 1, 1))).all()).size());
        ask("acls", () -> get(admin.describeAcls(AclBindingFilter.ANY).values()));
        ask("quotas", () -> get(admin.describeClientQuotas(ClientQuotaFilter.all()).entities()));
        ask("scram", () -> get(admin.describeUserScramCredentials().all()));
        ask("delegation tokens", () -> get(admin.describeDelegationToken().delegationTokens()));
        ask("unregister a broker", () -> get(admin.unregisterBroker(77).all()));
    }

    static void groups(Admin admin, Properties base) throws Exception {
        Properties consuming = new Properties();
        consuming.putAll(base);
        consuming.put("group.id", name);
        consuming.put("auto.offset.reset", "earliest");
        consuming.put("key.deserializer", ByteArrayDeserializer.class.getName());
        consuming.put("value.deserializer", ByteArrayDeserializer.class.getName());
        ask("consume", () -> {
            int count = 0;
            try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(consuming)) {
                consumer.subscribe(List.of(name));
                for (long end = System.currentTimeMillis() + 20_000; count < 55 && System.currentTimeMillis() < end;)
                    count += consumer.poll(Duration.ofMillis(200)).count();
                consumer.commitSync();
            }
            return count;
        });
        ask("describe group", () -> {
            var group = get(admin.describeConsumerGroups(List.of(name)).all()).get(name);
            return group.type() + " " + group.members().size() + " at " + group.coordinator().id();
        });
        ask("committed", () -> new TreeMap<>(Map.of("offsets", get(admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata()).size())));
        ask("commit", () -> get(admin.alterConsumerGroupOffsets(name, Map.of(new TopicPartition(name, 0), new OffsetAndMetadata(7))).all()));
        ask("delete group", () -> get(admin.deleteConsumerGroups(List.of(name)).all()));
        ask("delete it again", () -> get(admin.deleteConsumerGroups(List.of(name)).all()));
    }

    static void transactions(Admin admin, Properties base) throws Exception {
        Properties transactional = producing(base);
        transactional.put("transactional.id", name);
        TopicPartition second = new TopicPartition(name, 1);
        ask("transaction", () -> {
            try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(transactional)) {
                producer.initTransactions();
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(name, 1, null, new byte[3])).get();
                ask("open", () -> get(admin.describeTransactions(List.of(name)).all()).get(name).topicPartitions());
                ask("abort", () -> {
                    ProducerState open = only(get(admin.describeProducers(List.of(second)).all())).activeProducers().stream()
                        .filter(one -> one.currentTransactionStartOffset().isPresent()).findFirst().orElseThrow();
                    return get(admin.abortTransaction(new AbortTransactionSpec(second, open.producerId(), (short) open.producerEpoch(),
                        open.coordinatorEpoch().orElse(0))).all());
                });
                ask("fence", () -> get(admin.fenceProducers(List.of(name)).all()));
                try {
                    producer.commitTransaction();
                    return "committed";
                } catch (KafkaException fenced) {
                    return "refused";
                }
            }
        });
    }

    static Properties producing(Properties base) {
        Properties producing = new Properties();
        producing.putAll(base);
        producing.put("key.serializer", ByteArraySerializer.class.getName());
        producing.put("value.serializer", ByteArraySerializer.class.getName());
        return producing;
    }
}
