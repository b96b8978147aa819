import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.Map;

/** Calls the handler as the runtime of Java does: an event a line, and what it returns or throws. */
public class Run {
    public static void main(String[] given) throws Exception {
        Mailer handler = new Mailer();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line; (line = input.readLine()) != null; ) {
            System.out.println(Json.text(answer(handler, line)));
        }
    }

    @SuppressWarnings("unchecked")
    static Object answer(Mailer handler, String line) {
        try {
            var event = (Map<String, Object>) new Json(line).value();
            return Map.of("returned", handler.handleRequest(event, null));
        } catch (RuntimeException problem) {
            var stack = Arrays.stream(problem.getStackTrace()).map(String::valueOf).toList();
            return Map.of("raised", Map.of(
                "errorType", problem.getClass().getName(),
                "errorMessage", String.valueOf(problem.getMessage()),
                "stackTrace", stack));
        }
    }
}
