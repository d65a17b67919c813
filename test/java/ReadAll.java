import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads partitions from their begin to an end that is fixed before the first record, and says what was there.
 *
 * --bootstrap S --topic T
 * --isolation read_committed|read_uncommitted  (read_committed)
 * --partitions 0,2     (all)
 * --to 0:120,1:77      end offsets, not included; else what the broker gives as end for this isolation level
 * --from 0:10,1:5      first offsets; else the begin of the log
 * --dump FILE          one line a record, partitions mixed, offsets of a partition in order:
 *                      PARTITION OFFSET TIMESTAMP TYPE KEY VALUE HEADER=VALUE,...   all bytes Base64, null is ~
 * --timeout-ms N       gives up with exit code 3 when the ends are not reached (60000)
 * --config NAME=VALUE  consumer setting, may be repeated
 *
 * Prints one JSON line a partition, {"partition","begin","end","position","records","first","last","sha256"}, the hash
 * over its lines as in the dump. A consumer's position steps over markers and aborted records, so reaching the end is
 * judged by position and not by the last record.
 */
public class ReadAll {
    static class State {
        long begin, end, records, first = -1, last = -1;
        MessageDigest digest;
    }

    static Map<String, String> args = new HashMap<>();
    static Properties extra = new Properties();

    public static void main(String[] argv) throws Exception {
        System.exit(run(argv));
    }

    public static int run(String[] argv) throws Exception {
        parse(argv);
        String topic = need("topic");
        Properties config = new Properties();
        config.put("bootstrap.servers", need("bootstrap"));
        config.put("client.id", "read-all");
        config.put("isolation.level", args.getOrDefault("isolation", "read_committed"));
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "none");
        config.put("allow.auto.create.topics", "false");
        // what is asked for at the end of a log is waited for before the consumer can close
        config.put("fetch.max.wait.ms", "50");
        config.putAll(extra);
        long deadline = System.nanoTime() + Long.parseLong(args.getOrDefault("timeout-ms", "60000")) * 1_000_000L;
        OutputStream dump = args.containsKey("dump")
            ? new BufferedOutputStream(new FileOutputStream(args.get("dump")), 1 << 16) : null;
        int code = 0;
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> all = partitions(consumer, topic);
            consumer.assign(all);
            TreeMap<Integer, State> states = begin(consumer, all);
            List<TopicPartition> going = new ArrayList<>(all);
            while (true) {
                stopFinished(consumer, going, states);
                if (going.isEmpty()) break;
                if (System.nanoTime() > deadline) {
                    for (TopicPartition at : going) System.err.println("not reached: " + at + " is at "
                        + consumer.position(at) + " of " + states.get(at.partition()).end);
                    code = 3;
                    break;
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    State state = states.get(record.partition());
                    if (record.offset() < state.end) take(record, state, dump);
                }
            }
            for (TopicPartition at : all) report(at, states.get(at.partition()), consumer.position(at));
        }
        if (dump != null) dump.close();
        System.out.flush();
        return code;
    }

    static void stopFinished(KafkaConsumer<?, ?> consumer, List<TopicPartition> going, Map<Integer, State> states) {
        List<TopicPartition> over = new ArrayList<>();
        for (TopicPartition at : going) if (consumer.position(at) >= states.get(at.partition()).end) over.add(at);
        consumer.pause(over);
        going.removeAll(over);
    }

    static void take(ConsumerRecord<byte[], byte[]> record, State state, OutputStream dump) throws Exception {
        if (record.offset() <= state.last) throw new IllegalStateException("partition " + record.partition()
            + ": offset " + record.offset() + " after " + state.last);
        byte[] line = line(record).getBytes(StandardCharsets.UTF_8);
        state.digest.update(line);
        if (dump != null) dump.write(line);
        if (state.first < 0) state.first = record.offset();
        state.last = record.offset();
        state.records++;
    }

    static String line(ConsumerRecord<byte[], byte[]> record) {
        StringBuilder text = new StringBuilder();
        text.append(record.partition()).append(' ').append(record.offset()).append(' ').append(record.timestamp());
        text.append(' ').append(record.timestampType()).append(' ');
        text.append(base64(record.key())).append(' ').append(base64(record.value())).append(' ');
        String separator = "";
        for (Header header : record.headers()) {
            text.append(separator).append(base64(header.key().getBytes(StandardCharsets.UTF_8)));
            text.append(':').append(base64(header.value()));
            separator = ",";
        }
        return text.append('\n').toString();
    }

    static String base64(byte[] bytes) {
        return bytes == null ? "~" : Base64.getEncoder().encodeToString(bytes);
    }

    static TreeMap<Integer, State> begin(KafkaConsumer<?, ?> consumer, List<TopicPartition> all) throws Exception {
        Map<TopicPartition, Long> begins = consumer.beginningOffsets(all);
        Map<TopicPartition, Long> ends = consumer.endOffsets(all);
        Map<Integer, Long> from = offsets("from");
        Map<Integer, Long> to = offsets("to");
        TreeMap<Integer, State> states = new TreeMap<>();
        for (TopicPartition at : all) {
            State state = new State();
            state.begin = begins.get(at);
            state.end = to.getOrDefault(at.partition(), ends.get(at));
            state.digest = MessageDigest.getInstance("SHA-256");
            consumer.seek(at, from.getOrDefault(at.partition(), state.begin));
            states.put(at.partition(), state);
        }
        return states;
    }

    static List<TopicPartition> partitions(KafkaConsumer<?, ?> consumer, String topic) {
        List<TopicPartition> all = new ArrayList<>();
        if (args.containsKey("partitions")) {
            for (String part : args.get("partitions").split(",")) all.add(new TopicPartition(topic, Integer.parseInt(part)));
            return all;
        }
        List<PartitionInfo> known = consumer.partitionsFor(topic);
        if (known == null || known.isEmpty()) throw new IllegalStateException("no such topic: " + topic);
        for (PartitionInfo info : known) all.add(new TopicPartition(topic, info.partition()));
        all.sort((a, b) -> a.partition() - b.partition());
        return all;
    }

    static Map<Integer, Long> offsets(String name) {
        Map<Integer, Long> result = new HashMap<>();
        String text = args.getOrDefault(name, "");
        if (text.isEmpty()) return result;
        for (String pair : text.split(",")) {
            String[] parts = pair.split(":");
            result.put(Integer.parseInt(parts[0]), Long.parseLong(parts[1]));
        }
        return result;
    }

    static void report(TopicPartition at, State state, long position) {
        StringBuilder hex = new StringBuilder();
        for (byte one : state.digest.digest()) hex.append(String.format("%02x", one));
        System.out.println("{\"partition\":" + at.partition() + ",\"begin\":" + state.begin + ",\"end\":" + state.end
            + ",\"position\":" + position + ",\"records\":" + state.records + ",\"first\":" + state.first
            + ",\"last\":" + state.last + ",\"sha256\":\"" + hex + "\"}");
    }

    static void parse(String[] argv) {
        for (int i = 0; i + 1 < argv.length; i += 2) {
            String name = argv[i].substring(2);
            String value = argv[i + 1];
            if (name.equals("config")) extra.put(value.substring(0, value.indexOf('=')), value.substring(value.indexOf('=') + 1));
            else args.put(name, value);
        }
    }

    static String need(String name) {
        String value = args.get(name);
        if (value == null) throw new IllegalArgumentException("--" + name + " is missing");
        return value;
    }
}
