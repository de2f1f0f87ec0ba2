package dagstersmt.foreign;

import dagstersmt.Bounded;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The pattern of a class that looks at topics. Some patterns never come to an end, and nobody can stop the class then.
 * So each new topic is tried first, in a thread that nobody waits for longer than a while.
 */
final class TopicPattern {
    private static final long PATIENCE = 2000;
    private static final int MOST = 10_000;
    private final Pattern pattern;
    /** By topic, whether the pattern comes to an end. */
    private final Map<String, Boolean> tried = new HashMap<>();
    private boolean endless;

    TopicPattern(String pattern) {
        this.pattern = Pattern.compile(pattern);
    }

    /** Returns whether the pattern comes to an end with a topic. */
    boolean ends(String topic) {
        if (topic == null) {
            return true;
        }
        Boolean known = tried.get(topic);
        if (known == null) {
            if (tried.size() >= MOST) {
                tried.clear();
            }
            known = !endless && isTried(topic);
            tried.put(topic, known);
        }
        return known;
    }

    private boolean isTried(String topic) {
        boolean[] done = new boolean[1];
        Thread thread = new Thread(() -> done[0] = isDone(topic), "pattern of a topic");
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join(PATIENCE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
        endless = thread.isAlive(); // it has the thread for good, so it gets no other
        return !endless && done[0];
    }

    /** Does what {@code RegexRouter} does: it looks for the pattern again in a topic that matches. */
    private boolean isDone(String topic) {
        try {
            Matcher matcher = pattern.matcher(new Bounded(topic));
            return !matcher.matches() || matcher.replaceFirst("") != null;
        } catch (RuntimeException | StackOverflowError e) {
            return false; // it looks too often, or too deep
        }
    }
}
