import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;

/**
 * Has a broker hand out producer ids until a wanted one comes next, so that a later producer gets an id that is known
 * beforehand. One connection, InitProducerId version 1 in rounds of requests sent without waiting.
 *
 * --bootstrap HOST:PORT   one broker; each broker hands out ids from a block of its own
 * --count N               burn N ids, or
 * --next ID               burn until ID is the next to come; exit code 2 when that is past already
 *
 * Prints {"burned":N,"last":ID}; last is -1 when none was burned.
 */
public class BurnIds {
    static final int ROUND = 200;

    public static void main(String[] argv) throws Exception {
        System.exit(run(argv));
    }

    public static int run(String[] argv) throws Exception {
        String bootstrap = null;
        long count = -1, next = -1;
        for (int i = 0; i + 1 < argv.length; i += 2) {
            if (argv[i].equals("--bootstrap")) bootstrap = argv[i + 1].split(",")[0];
            if (argv[i].equals("--count")) count = Long.parseLong(argv[i + 1]);
            if (argv[i].equals("--next")) next = Long.parseLong(argv[i + 1]);
        }
        if (bootstrap == null || (count < 0) == (next < 0)) throw new IllegalArgumentException("--bootstrap and one of --count, --next are needed");
        int colon = bootstrap.lastIndexOf(':');
        long burned = 0, last = -1;
        try (Socket socket = new Socket(bootstrap.substring(0, colon), Integer.parseInt(bootstrap.substring(colon + 1)))) {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(30_000);
            DataOutputStream out = new DataOutputStream(new java.io.BufferedOutputStream(socket.getOutputStream()));
            DataInputStream in = new DataInputStream(new java.io.BufferedInputStream(socket.getInputStream()));
            while (count >= 0 ? burned < count : last < next - 1) {
                // The first id tells how many are still to go; until then one at a time.
                long want = count >= 0 ? count - burned : last < 0 ? 1 : next - 1 - last;
                int round = (int) Math.min(ROUND, want);
                for (int i = 0; i < round; i++) request(out, i);
                out.flush();
                for (int i = 0; i < round; i++) {
                    long id = reply(in);
                    // An empty answer while the broker fetches its next block; it is asked again.
                    if (id < 0) continue;
                    last = id;
                    burned++;
                }
                if (next >= 0 && last >= next) {
                    System.err.println("id " + next + " was handed out already, the last one is " + last);
                    return 2;
                }
            }
        }
        System.out.println("{\"burned\":" + burned + ",\"last\":" + last + "}");
        return 0;
    }

    static void request(DataOutputStream out, int correlation) throws IOException {
        out.writeInt(2 + 2 + 4 + 2 + 4 + 2 + 4);
        out.writeShort(22);
        out.writeShort(1);
        out.writeInt(correlation);
        out.writeShort(4);
        out.writeBytes("burn");
        out.writeShort(-1);
        out.writeInt(60_000);
    }

    static long reply(DataInputStream in) throws IOException {
        int size = in.readInt();
        if (size != 4 + 4 + 2 + 8 + 2) throw new IOException("unexpected reply of " + size + " bytes");
        in.readInt();
        in.readInt();
        short error = in.readShort();
        long id = in.readLong();
        in.readShort();
        boolean passing = error == 14 || error == 15 || error == 51;
        if (error != 0 && !passing) throw new IOException("InitProducerId was refused with error " + error);
        return error == 0 ? id : -1;
    }
}
