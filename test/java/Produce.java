import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes mixed records. Equal arguments give equal keys, values and headers.
 *
 * --bootstrap S --topic T --count N      records altogether
 * --mode plain|idempotent|transactional  (idempotent)
 * --codec none|gzip|snappy|lz4|zstd|all  (none; all: one producer for each, taking turns)
 * --partitions 4 | 0,2                   a number of partitions, or the very ones (1)
 * --producers N                          producers taking turns, so transactions interleave (1, with codec all 5)
 * --transactional-id P                   prefix of the ids, P-0, P-1, ... (the topic's name)
 * --records-per-txn N                    (50)
 * --abort-every N                        each Nth transaction of a producer is aborted (0: none)
 * --leave-open                           the last transaction of each producer stays open at the end
 * --value-size N                         largest value in bytes (200); --seed N (1)
 * --timestamp-base MS                    CreateTime of record i is MS + i (else the clock)
 * --rate N                               at most N records a second (0: no limit)
 * --until-stop                           goes on, whatever the count, until a line or the end of standard input
 * --acks                                 a line for each record: {"partition","offset","fate"}
 * --config NAME=VALUE                    producer setting, may be repeated
 *
 * Ends when the markers of all its transactions stand. Prints STARTED once the first record is acknowledged, and at the end one JSON line with what was done.
 */
public class Produce {
    static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};

    static final Set<TransactionState> OVER = Set.of(TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT, TransactionState.EMPTY);

    record Sent(Future<RecordMetadata> ack) {}

    /** One producer and the transaction it is in. */
    static class Writer {
        KafkaProducer<byte[], byte[]> producer;
        List<Sent> open = new ArrayList<>();
        boolean inTransaction;
        int transactions;
    }

    static Map<String, String> args = new HashMap<>();
    static Properties extra = new Properties();
    static final List<KafkaProducer<?, ?>> opened = new ArrayList<>();
    static Random random;
    static long committed, aborted, left, acked, committedTxns, abortedTxns;
    static boolean printAcks, transactional;
    static final StringBuilder out = new StringBuilder();
    static volatile boolean stopAsked;

    public static void main(String[] argv) throws Exception {
        System.exit(run(argv));
    }

    public static int run(String[] argv) throws Exception {
        try {
            write(argv);
            return 0;
        } finally {
            // After a failure nothing is waited for; after the end they are closed already.
            for (KafkaProducer<?, ?> producer : opened) producer.close(Duration.ZERO);
        }
    }

    static void write(String[] argv) throws Exception {
        parse(argv);
        String topic = need("topic");
        String mode = args.getOrDefault("mode", "idempotent");
        transactional = mode.equals("transactional");
        printAcks = args.containsKey("acks");
        long count = number("count", 1000);
        int perTransaction = (int) number("records-per-txn", 50);
        int abortEvery = (int) number("abort-every", 0);
        long timestampBase = number("timestamp-base", -1);
        int valueSize = (int) number("value-size", 200);
        long rate = number("rate", 0);
        boolean untilStop = args.containsKey("until-stop");
        boolean leaveOpen = args.containsKey("leave-open");
        int[] partitions = partitions();
        random = new Random(number("seed", 1));
        String codec = args.getOrDefault("codec", "none");
        int producers = (int) number("producers", codec.equals("all") ? CODECS.length : 1);
        Writer[] writers = new Writer[producers];
        for (int i = 0; i < producers; i++) writers[i] = open(mode, codec.equals("all") ? CODECS[i % CODECS.length] : codec, i);
        if (untilStop) watchInput();
        long begun = System.nanoTime();
        boolean started = false;
        for (long i = 0; untilStop ? !stopAsked : i < count; i++) {
            Writer writer = writers[random.nextInt(producers)];
            if (transactional && !writer.inTransaction) {
                writer.producer.beginTransaction();
                writer.inTransaction = true;
                writer.transactions++;
            }
            Long timestamp = timestampBase < 0 ? null : Long.valueOf(timestampBase + i);
            int partition = partitions[random.nextInt(partitions.length)];
            writer.open.add(new Sent(writer.producer.send(
                new ProducerRecord<>(topic, partition, timestamp, key(), value(i, valueSize), headers()))));
            if (!started) {
                writer.open.get(0).ack().get();
                System.out.println("STARTED");
                System.out.flush();
                started = true;
            }
            if (transactional) {
                boolean full = writer.open.size() >= perTransaction;
                if (full) end(writer, abortEvery > 0 && writer.transactions % abortEvery == 0);
            } else if (writer.open.size() >= 5000) {
                settle(writer, "plain");
            }
            if (rate > 0) pace(begun, i + 1, rate);
        }
        for (Writer writer : writers) {
            if (!transactional) {
                writer.producer.flush();
                settle(writer, "plain");
            } else if (writer.inTransaction) {
                if (leaveOpen) {
                    writer.producer.flush();
                    settle(writer, "open");
                } else {
                    end(writer, abortEvery > 0 && writer.transactions % abortEvery == 0);
                }
            }
        }
        System.out.print(out);
        System.out.println("{\"acked\":" + acked + ",\"committed\":" + committed + ",\"aborted\":" + aborted
            + ",\"open\":" + left + ",\"committedTransactions\":" + committedTxns + ",\"abortedTransactions\":" + abortedTxns + "}");
        System.out.flush();
        // close() would abort what is to stay open.
        if (leaveOpen) Runtime.getRuntime().halt(0);
        for (Writer writer : writers) writer.producer.close();
        if (transactional) awaitMarkers(producers);
    }

    /**
     * A commit or an abort is answered before its markers stand in the partitions: until they do, a consumer's last
     * stable offset lies below what was ended.
     */
    static void awaitMarkers(int producers) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", need("bootstrap"));
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < producers; i++) ids.add(transactionalId(i));
        try (Admin admin = Admin.create(config)) {
            while (!admin.describeTransactions(ids).all().get().values().stream().allMatch(one -> OVER.contains(one.state()))) Thread.sleep(10);
        }
    }

    static String transactionalId(int index) {
        return args.getOrDefault("transactional-id", need("topic")) + "-" + index;
    }

    static Writer open(String mode, String codec, int index) {
        Properties config = new Properties();
        config.put("bootstrap.servers", need("bootstrap"));
        config.put("client.id", "produce-" + index);
        config.put("compression.type", codec);
        config.put("linger.ms", "5");
        config.put("acks", "all");
        config.put("enable.idempotence", String.valueOf(!mode.equals("plain")));
        if (transactional) config.put("transactional.id", transactionalId(index));
        config.putAll(extra);
        Writer writer = new Writer();
        writer.producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        opened.add(writer.producer);
        if (transactional) writer.producer.initTransactions();
        return writer;
    }

    static void end(Writer writer, boolean abort) throws Exception {
        // Flushed first, so that an aborted transaction leaves its records in the log as well.
        writer.producer.flush();
        if (abort) writer.producer.abortTransaction();
        else writer.producer.commitTransaction();
        if (abort) abortedTxns++;
        else committedTxns++;
        writer.inTransaction = false;
        settle(writer, abort ? "abort" : "commit");
    }

    /** Takes the acknowledgements of what is open; a failed one ends the program with its error. */
    static void settle(Writer writer, String fate) throws Exception {
        for (Sent sent : writer.open) {
            RecordMetadata ack = sent.ack().get();
            acked++;
            if (fate.equals("abort")) aborted++;
            else if (fate.equals("open")) left++;
            else committed++;
            if (printAcks) out.append("{\"partition\":").append(ack.partition()).append(",\"offset\":").append(ack.offset())
                .append(",\"fate\":\"").append(fate).append("\"}\n");
        }
        writer.open.clear();
    }

    static byte[] key() {
        int kind = random.nextInt(10);
        if (kind == 0) return null;
        if (kind == 1) return new byte[0];
        return ("key-" + random.nextInt(1000)).getBytes(StandardCharsets.UTF_8);
    }

    static byte[] value(long index, int largest) {
        int kind = random.nextInt(20);
        if (kind == 0) return null;
        if (kind == 1) return new byte[0];
        byte[] bytes = new byte[1 + random.nextInt(Math.max(1, largest))];
        // Half of it random, half text, so that every codec has something to do and something to keep.
        random.nextBytes(bytes);
        byte[] text = ("record " + index + " of a mirrored topic, ").getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < bytes.length / 2; i++) bytes[i] = text[i % text.length];
        return bytes;
    }

    static Headers headers() {
        Headers headers = new RecordHeaders();
        int number = random.nextInt(4) == 0 ? 1 + random.nextInt(3) : 0;
        for (int i = 0; i < number; i++) {
            byte[] value = random.nextInt(3) == 0 ? null : new byte[random.nextInt(12)];
            if (value != null) random.nextBytes(value);
            headers.add("header-\u00fc-" + random.nextInt(2), value);
        }
        return headers;
    }

    static void pace(long begun, long done, long rate) throws InterruptedException {
        long ahead = done * 1_000_000_000L / rate - (System.nanoTime() - begun);
        if (ahead > 2_000_000L) Thread.sleep(ahead / 1_000_000L);
    }

    static void watchInput() {
        Thread thread = new Thread(() -> {
            try {
                new BufferedReader(new InputStreamReader(System.in)).readLine();
            } catch (Exception error) {
                // treated as the end of input
            }
            stopAsked = true;
        });
        thread.setDaemon(true);
        thread.start();
    }

    static int[] partitions() {
        String text = args.getOrDefault("partitions", "1");
        if (!text.contains(",")) {
            int[] all = new int[Integer.parseInt(text)];
            for (int i = 0; i < all.length; i++) all[i] = i;
            return all;
        }
        String[] parts = text.split(",");
        List<Integer> list = new ArrayList<>();
        for (String part : parts) if (!part.isEmpty()) list.add(Integer.parseInt(part));
        return list.stream().mapToInt(Integer::intValue).toArray();
    }

    static void parse(String[] argv) {
        for (int i = 0; i < argv.length; i++) {
            String name = argv[i].substring(2);
            boolean bare = i + 1 >= argv.length || argv[i + 1].startsWith("--");
            String value = bare ? "" : argv[++i];
            if (name.equals("config")) extra.put(value.substring(0, value.indexOf('=')), value.substring(value.indexOf('=') + 1));
            else args.put(name, value);
        }
    }

    static String need(String name) {
        String value = args.get(name);
        if (value == null) throw new IllegalArgumentException("--" + name + " is missing");
        return value;
    }

    static long number(String name, long otherwise) {
        return args.containsKey(name) ? Long.parseLong(args.get(name)) : otherwise;
    }
}
