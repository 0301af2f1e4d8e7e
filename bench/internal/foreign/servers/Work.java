import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** A server whose handler takes STEPS steps of integer arithmetic: java -Dsun.net.httpserver.nodelay=true Work ADDRESS STEPS. */
public class Work {
    static int work(int n) {
        int x = 1;
        for (int i = 0; i < n; i++) {
            x = x * 31 + i;
            x ^= x >>> 7;
        }
        return x;
    }

    public static void main(String[] args) throws Exception {
        String[] address = args[0].split(":");
        int steps = Integer.parseInt(args[1]);
        HttpServer server = HttpServer.create(new InetSocketAddress(address[0], Integer.parseInt(address[1])), 0);
        server.createContext("/", exchange -> {
            exchange.getResponseHeaders().set("X-Work", work(steps) == 0 ? "zero" : "done");
            byte[] body = "ok".getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
    }
}
