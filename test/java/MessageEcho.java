import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Reads bodies of messages with the message classes of the kafka-clients jar at hand, and tells what it saw.
 * Input file, one message a line: key, direction (request or response), version, body in hexadecimal; tab separated.
 * Output, one line for each: "unknown" (this jar has no such key or version), "error" and the reason, or "ok", the
 * bytes left over, the body as the class writes it again, and the values as JSON.
 */
public class MessageEcho {
  public static void main(String[] args) throws Exception {
    System.exit(run(args));
  }

  public static int run(String[] args) throws Exception {
    StringBuilder out = new StringBuilder();
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      String[] parts = line.split("\t", -1);
      out.append(echo(Short.parseShort(parts[0]), parts[1].equals("request"), Short.parseShort(parts[2]), parts[3]));
      out.append('\n');
    }
    System.out.print(out);
    return 0;
  }

  static String echo(short key, boolean request, short version, String hex) {
    ApiMessageType type = known(key, version);
    if (type == null) return "unknown";
    try {
      ApiMessage message = request ? type.newRequest() : type.newResponse();
      ByteBuffer body = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
      message.read(new ByteBufferAccessor(body), version);
      int left = body.remaining();
      ObjectSerializationCache cache = new ObjectSerializationCache();
      ByteBuffer again = ByteBuffer.allocate(message.size(cache, version));
      message.write(new ByteBufferAccessor(again), cache, version);
      Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
      Method write = converter.getMethod("write", message.getClass(), short.class, boolean.class);
      return "ok\t" + left + "\t" + HexFormat.of().formatHex(again.array()) + "\t" + write.invoke(null, message, version, false);
    } catch (Throwable error) {
      return "error\t" + error;
    }
  }

  static ApiMessageType known(short key, short version) {
    for (ApiMessageType type : ApiMessageType.values()) {
      if (type.apiKey() != key) continue;
      return version >= type.lowestSupportedVersion() && version <= type.highestSupportedVersion(true) ? type : null;
    }
    return null;
  }
}
