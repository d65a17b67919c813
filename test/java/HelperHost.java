import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/**
 * Runs helpers of this folder that have a `static int run(String[])` inside one JVM, any number of them side by side: a
 * JVM of its own costs each a second of a processor before its first request. Every run loads the helper's class anew,
 * so that no run sees what another left in its static fields, and has standard output and error to itself.
 *
 * Argument: the folder of the compiled helpers. Prints PORT N; ends with its standard input.
 * A connection is a run. In: count, class name, arguments (writeInt, then writeUTF each). Out: pieces of a kind (o, e: output, error;
 * x: the end, its text the exit code), a length and so many bytes.
 */
public class HelperHost {
    /** Where the threads of a run print: its own, and the threads that they start. */
    static final InheritableThreadLocal<Run> current = new InheritableThreadLocal<>();

    public static void main(String[] argv) throws Exception {
        URL[] folder = {Path.of(argv[0]).toUri().toURL()};
        PrintStream stdout = System.out;
        System.setOut(new PrintStream(new Routed('o', stdout), true));
        System.setErr(new PrintStream(new Routed('e', System.err), true));
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        stdout.println("PORT " + server.getLocalPort());
        Thread end = new Thread(() -> {
            try (InputStream in = System.in) {
                while (in.read() >= 0) continue;
            } catch (IOException error) {
                // treated as the end of input
            }
            Runtime.getRuntime().halt(0);
        });
        end.setDaemon(true);
        end.start();
        while (true) {
            Socket socket = server.accept();
            new Thread(() -> serve(socket, folder)).start();
        }
    }

    static void serve(Socket socket, URL[] folder) {
        try (socket; Fresh classes = new Fresh(folder)) {
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            String[] words = new String[in.readInt()];
            for (int i = 0; i < words.length; i++) words[i] = in.readUTF();
            String[] args = new String[words.length - 1];
            System.arraycopy(words, 1, args, 0, args.length);
            Run run = new Run(socket);
            current.set(run);
            Thread.currentThread().setContextClassLoader(classes);
            run.end(codeOf(classes, words[0], args));
        } catch (Exception error) {
            error.printStackTrace();
        }
    }

    static int codeOf(ClassLoader classes, String name, String[] args) {
        try {
            return (int) classes.loadClass(name).getMethod("run", String[].class).invoke(null, (Object) args);
        } catch (InvocationTargetException error) {
            error.getCause().printStackTrace();
        } catch (Exception error) {
            error.printStackTrace();
        }
        return 1;
    }

    /** Its own copy of every class without a package, which the helpers are; the clients' are shared. */
    static class Fresh extends URLClassLoader {
        Fresh(URL[] folder) {
            super(folder);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.contains(".")) return super.loadClass(name, resolve);
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known == null ? findClass(name) : known;
            }
        }
    }

    static class Run {
        private final DataOutputStream out;
        private boolean over;

        Run(Socket socket) throws IOException {
            socket.setTcpNoDelay(true);
            out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), 1 << 16));
        }

        synchronized void piece(char kind, byte[] bytes, int at, int length) throws IOException {
            if (over) return;
            out.writeByte(kind);
            out.writeInt(length);
            out.write(bytes, at, length);
            out.flush();
        }

        synchronized void end(int code) throws IOException {
            System.out.flush();
            System.err.flush();
            byte[] text = String.valueOf(code).getBytes();
            piece('x', text, 0, text.length);
            over = true;
        }
    }

    static class Routed extends OutputStream {
        private final char kind;
        private final OutputStream otherwise;

        Routed(char kind, OutputStream otherwise) {
            this.kind = kind;
            this.otherwise = otherwise;
        }

        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int at, int length) throws IOException {
            Run run = current.get();
            if (run == null) otherwise.write(bytes, at, length);
            else run.piece(kind, bytes, at, length);
        }
    }
}
