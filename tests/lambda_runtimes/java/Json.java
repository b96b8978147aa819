import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Reads events and writes answers: Lambda does so with a library, which is not here. */
final class Json {
    private final String text;
    private int at;

    Json(String text) {
        this.text = text;
    }

    Object value() {
        switch (next()) {
            case '{':
                Map<String, Object> members = new LinkedHashMap<>();
                for (at++; next() != '}'; skip(',')) {
                    String name = string();
                    skip(':');
                    members.put(name, value());
                }
                at++;
                return members;
            case '[':
                List<Object> items = new ArrayList<>();
                for (at++; next() != ']'; skip(',')) items.add(value());
                at++;
                return items;
            case '"':
                return string();
            default:
                return word();
        }
    }

    private Object word() {
        int from = at;
        while (at < text.length() && ",]} ".indexOf(text.charAt(at)) < 0) at++;
        String word = text.substring(from, at);
        return switch (word) {
            case "null" -> null;
            case "true", "false" -> Boolean.valueOf(word);
            default -> Double.valueOf(word);
        };
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        next();
        for (at++; text.charAt(at) != '"'; at++) {
            char each = text.charAt(at);
            if (each == '\\' && text.charAt(++at) == 'u') {
                each = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
                at += 4;
            } else if (each == '\\') {
                int known = "nrtbf".indexOf(text.charAt(at));
                each = known < 0 ? text.charAt(at) : "\n\r\t\b\f".charAt(known);
            }
            found.append(each);
        }
        at++;
        return found.toString();
    }

    private char next() {
        while (Character.isWhitespace(text.charAt(at))) at++;
        return text.charAt(at);
    }

    private void skip(char separator) {
        if (next() == separator) at++;
    }

    static String text(Object value) {
        if (value instanceof Map<?, ?> members) {
            return members.entrySet().stream()
                .map(each -> text(each.getKey()) + ":" + text(each.getValue()))
                .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List<?> items) {
            return items.stream().map(Json::text).collect(Collectors.joining(",", "[", "]"));
        }
        if (!(value instanceof String string)) return String.valueOf(value);
        return '"' + string.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }
}
