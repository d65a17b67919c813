import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Holds one transaction open and ends it on command.
 *
 * --bootstrap S --topic T --partition P (0) --count N (10) --transactional-id ID (open-T)
 * --unsent B       true: the partition joins the transaction, its records wait here (3.9 clients; false)
 * --timeout-ms N   transaction.timeout.ms (600000; brokers allow 900000 unless told otherwise)
 * --config NAME=VALUE
 *
 * Prints READY {"offsets":[...]} when all records are acknowledged, then takes lines of standard input:
 *   send N   N more records, answered by SENT {"offsets":[...]}
 *   commit   answered by COMMITTED, and the end
 *   abort    answered by ABORTED, and the end
 *   exit     ends at once, the transaction stays open; so does the end of input
 */
public class OpenTxn {
    static Map<String, String> args = new HashMap<>();
    static KafkaProducer<byte[], byte[]> producer;
    static int sent;

    public static void main(String[] argv) throws Exception {
        Properties config = new Properties();
        for (int i = 0; i + 1 < argv.length; i += 2) {
            String value = argv[i + 1];
            if (argv[i].equals("--config")) config.put(value.substring(0, value.indexOf('=')), value.substring(value.indexOf('=') + 1));
            else args.put(argv[i].substring(2), value);
        }
        config.put("bootstrap.servers", args.get("bootstrap"));
        config.put("transactional.id", args.getOrDefault("transactional-id", "open-" + args.get("topic")));
        config.put("transaction.timeout.ms", args.getOrDefault("timeout-ms", "600000"));
        if (args.containsKey("unsent")) config.put("linger.ms", "3600000");
        producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        producer.beginTransaction();
        say("READY " + send(Integer.parseInt(args.getOrDefault("count", "10"))));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.trim().split(" ");
            switch (words[0]) {
                case "send" -> say("SENT " + send(Integer.parseInt(words[1])));
                case "commit" -> {
                    producer.commitTransaction();
                    say("COMMITTED");
                    Runtime.getRuntime().halt(0);
                }
                case "abort" -> {
                    producer.abortTransaction();
                    say("ABORTED");
                    Runtime.getRuntime().halt(0);
                }
                case "exit" -> Runtime.getRuntime().halt(0);
                default -> System.err.println("not understood: " + line);
            }
        }
        // Not close(): that would abort.
        Runtime.getRuntime().halt(0);
    }

    static String send(int count) throws Exception {
        String topic = args.get("topic");
        int partition = Integer.parseInt(args.getOrDefault("partition", "0"));
        List<Future<RecordMetadata>> acks = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] value = ("open " + sent++).getBytes(StandardCharsets.UTF_8);
            acks.add(producer.send(new ProducerRecord<>(topic, partition, value, value)));
        }
        if (args.containsKey("unsent")) return "{\"offsets\":[]}";
        producer.flush();
        StringBuilder text = new StringBuilder("{\"offsets\":[");
        String separator = "";
        for (Future<RecordMetadata> ack : acks) {
            text.append(separator).append(ack.get().offset());
            separator = ",";
        }
        return text.append("]}").toString();
    }

    static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
