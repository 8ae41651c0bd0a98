// The official Java client against a server: one line a scenario.
//
//   Client ENDPOINT tls|plaintext NAME[,NAME...]
//
// Prints "RESULT scenario ok|fail milliseconds note" for each.

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.StaticSessionCredentialsProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

public final class Client {
  private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
  private static final String RUN = UUID.randomUUID().toString().substring(0, 8);
  private static String mode;
  private static ClientConfiguration config;
  private static Producer producer;

  interface Scenario {
    String run() throws Exception;
  }

  private static String topicOf(String name) {
    return "java-" + mode + "-" + name + "-" + RUN;
  }

  private static void expect(boolean condition, String what) {
    if (!condition) throw new AssertionError(what);
  }

  private static MessageBuilder message(String name, String body) {
    return PROVIDER
        .newMessageBuilder()
        .setTopic(topicOf(name))
        .setBody(body.getBytes(StandardCharsets.UTF_8));
  }

  private static String bodyOf(MessageView view) {
    ByteBuffer body = view.getBody();
    byte[] bytes = new byte[body.remaining()];
    body.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** A simple consumer with a group of its own. */
  private static final class Simple implements AutoCloseable {
    final SimpleConsumer consumer;
    long arrivedMs;

    Simple(String name, String tags, int awaitSeconds) throws ClientException {
      this(name, new FilterExpression(tags), awaitSeconds);
    }

    Simple(String name, FilterExpression filter, int awaitSeconds) throws ClientException {
      consumer =
          PROVIDER
              .newSimpleConsumerBuilder()
              .setClientConfiguration(config)
              .setConsumerGroup("group-" + topicOf(name))
              .setAwaitDuration(Duration.ofSeconds(awaitSeconds))
              .setSubscriptionExpressions(
                  Collections.singletonMap(topicOf(name), filter))
              .build();
    }

    Simple(String name) throws ClientException {
      this(name, "*", 5);
    }

    /** {@code count} messages, or fewer when the time is over. */
    List<MessageView> take(int count, double seconds, int batch, boolean ack) throws Exception {
      List<MessageView> got = new ArrayList<>();
      long end = System.currentTimeMillis() + (long) (1000 * seconds);
      while (got.size() < count && System.currentTimeMillis() < end) {
        for (MessageView view : consumer.receive(batch, Duration.ofSeconds(30))) {
          arrivedMs = System.currentTimeMillis();
          got.add(view);
          if (ack) consumer.ack(view);
        }
      }
      return got;
    }

    List<MessageView> take() throws Exception {
      return take(1, 8, 16, true);
    }

    @Override
    public void close() throws Exception {
      consumer.close();
    }
  }

  private static String normal() throws Exception {
    try (Simple consumer = new Simple("normal")) {
      SendReceipt receipt =
          producer.send(
              message("normal", "hello")
                  .setTag("a")
                  .setKeys("k1", "k2")
                  .addProperty("colour", "red")
                  .build());
      List<MessageView> got = consumer.take();
      expect(got.size() == 1, got.size() + " messages");
      MessageView one = got.get(0);
      expect(bodyOf(one).equals("hello"), "body");
      expect(one.getMessageId().equals(receipt.getMessageId()), "id");
      expect(one.getTag().orElse("").equals("a"), "tag");
      expect(one.getKeys().size() == 2, "keys");
      expect("red".equals(one.getProperties().get("colour")), "property");
      expect(one.getDeliveryAttempt() == 1, "attempt " + one.getDeliveryAttempt());
      expect(consumer.take(1, 1, 16, true).isEmpty(), "acknowledged, and again");
      return "";
    }
  }

  private static String delay() throws Exception {
    try (Simple consumer = new Simple("delay")) {
      long dueMs = System.currentTimeMillis() + 2000;
      SendReceipt receipt =
          producer.send(message("delay", "later").setDeliveryTimestamp(dueMs).build());
      expect(!receipt.getRecallHandle().isEmpty(), "no recall handle");
      List<MessageView> got = consumer.take();
      expect(got.size() == 1, got.size() + " messages");
      long lateMs = consumer.arrivedMs - dueMs;
      expect(got.get(0).getDeliveryTimestamp().orElse(0L) == dueMs, "delivery timestamp");
      expect(lateMs >= 0, -lateMs + " ms early");
      expect(lateMs < 1000, lateMs + " ms late");
      return lateMs + " ms late";
    }
  }

  private static String recallBefore() throws Exception {
    try (Simple consumer = new Simple("recall_before", "*", 3)) {
      long dueMs = System.currentTimeMillis() + 1500;
      SendReceipt receipt =
          producer.send(message("recall_before", "never").setDeliveryTimestamp(dueMs).build());
      String id =
          producer
              .recallMessage(topicOf("recall_before"), receipt.getRecallHandle())
              .getMessageId()
              .toString();
      expect(id.equals(receipt.getMessageId().toString()), "recalled " + id);
      expect(consumer.take(1, 3, 16, true).isEmpty(), "recalled, and delivered");
      return "";
    }
  }

  private static String recallAfter() throws Exception {
    try (Simple consumer = new Simple("recall_after")) {
      long dueMs = System.currentTimeMillis() + 500;
      SendReceipt receipt =
          producer.send(message("recall_after", "gone").setDeliveryTimestamp(dueMs).build());
      expect(consumer.take().size() == 1, "not delivered");
      try {
        producer.recallMessage(topicOf("recall_after"), receipt.getRecallHandle());
      } catch (ClientException error) {
        expect(error.toString().contains("40401"), error.toString());
        return error.getClass().getSimpleName();
      }
      throw new AssertionError("recalled what was delivered");
    }
  }

  private static String past() throws Exception {
    try (Simple consumer = new Simple("past")) {
      long beganMs = System.currentTimeMillis();
      producer.send(message("past", "now").setDeliveryTimestamp(beganMs - 3_600_000).build());
      expect(consumer.take().size() == 1, "not delivered");
      return System.currentTimeMillis() - beganMs + " ms";
    }
  }

  private static String overLimit() throws Exception {
    long dueMs = System.currentTimeMillis() + 20L * 366 * 86_400_000;
    try {
      producer.send(message("over_limit", "no").setDeliveryTimestamp(dueMs).build());
    } catch (ClientException error) {
      expect(error.toString().contains("40012"), error.toString());
      return error.getClass().getSimpleName();
    }
    throw new AssertionError("accepted");
  }

  private static String nack() throws Exception {
    try (Simple consumer = new Simple("nack")) {
      producer.send(message("nack", "again").build());
      MessageView first = consumer.take(1, 8, 16, false).get(0);
      long beganMs = System.currentTimeMillis();
      consumer.consumer.changeInvisibleDuration(first, Duration.ofSeconds(1));
      List<MessageView> second = consumer.take();
      expect(second.size() == 1, "not delivered again");
      expect(
          second.get(0).getDeliveryAttempt() == 2, "attempt " + second.get(0).getDeliveryAttempt());
      return "again after " + (System.currentTimeMillis() - beganMs) + " ms";
    }
  }

  private static String tag() throws Exception {
    try (Simple consumer = new Simple("tag", "a || c", 2)) {
      for (String tag : List.of("a", "b", "c")) {
        producer.send(message("tag", tag).setTag(tag).build());
      }
      List<String> tags =
          consumer.take(3, 3, 16, true).stream()
              .map(view -> view.getTag().orElse(""))
              .sorted()
              .collect(Collectors.toList());
      expect(tags.equals(List.of("a", "c")), tags.toString());
      return "";
    }
  }

  private static String sql() throws Exception {
    FilterExpression filter =
        new FilterExpression(
            "price BETWEEN 10 AND 99 AND TAGS <> 'b'", FilterExpressionType.SQL92);
    try (Simple consumer = new Simple("sql", filter, 2)) {
      for (String[] one :
          new String[][] {{"a", "5"}, {"b", "20"}, {"c", "30"}, {"d", "none"}}) {
        producer.send(
            message("sql", one[0]).setTag(one[0]).addProperty("price", one[1]).build());
      }
      List<MessageView> got = consumer.take(2, 3, 16, true);
      expect(got.size() == 1, got.size() + " messages");
      expect(got.get(0).getTag().orElse("").equals("c"), "tag");
      return "";
    }
  }

  private static String fifo() throws Exception {
    try (Simple consumer = new Simple("fifo", "*", 1)) {
      for (int i = 0; i < 4; ++i) {
        producer.send(message("fifo", "" + i).setMessageGroup("g").build());
      }
      List<String> order = new ArrayList<>();
      while (order.size() < 4) {
        List<MessageView> got = consumer.take(1, 8, 1, false);
        expect(!got.isEmpty(), "nothing after " + order);
        expect(consumer.take(1, 0.2, 1, false).isEmpty(), "two batches of a group at once");
        order.add(bodyOf(got.get(0)));
        consumer.consumer.ack(got.get(0));
      }
      expect(order.equals(List.of("0", "1", "2", "3")), order.toString());
      return "";
    }
  }

  private static String push() throws Exception {
    Map<String, Integer> good = new ConcurrentHashMap<>();
    AtomicBoolean failed = new AtomicBoolean();
    try (PushConsumer consumer =
        PROVIDER
            .newPushConsumerBuilder()
            .setClientConfiguration(config)
            .setConsumerGroup("group-" + topicOf("push"))
            .setSubscriptionExpressions(
                Collections.singletonMap(topicOf("push"), new FilterExpression("*")))
            .setMessageListener(
                view -> {
                  String body = bodyOf(view);
                  if (body.equals("0") && failed.compareAndSet(false, true)) {
                    return ConsumeResult.FAILURE;
                  }
                  good.put(body, view.getDeliveryAttempt());
                  return ConsumeResult.SUCCESS;
                })
            .build()) {
      long beganMs = System.currentTimeMillis();
      for (int i = 0; i < 10; ++i) producer.send(message("push", "" + i).build());
      while (good.size() < 10 && System.currentTimeMillis() < beganMs + 20_000) Thread.sleep(20);
      expect(good.size() == 10, good.toString());
      expect(good.get("0") == 2, "attempt " + good.get("0"));
      return "all after " + (System.currentTimeMillis() - beganMs) + " ms";
    }
  }

  private static String transaction() throws Exception {
    try (Simple consumer = new Simple("transaction", "*", 2)) {
      Transaction first = producer.beginTransaction();
      producer.send(message("transaction", "yes").build(), first);
      expect(consumer.take(1, 1, 16, true).isEmpty(), "a half message");
      first.commit();
      Transaction second = producer.beginTransaction();
      producer.send(message("transaction", "no").build(), second);
      second.rollback();
      List<String> bodies =
          consumer.take(2, 3, 16, true).stream().map(Client::bodyOf).collect(Collectors.toList());
      expect(bodies.equals(List.of("yes")), bodies.toString());
      return "";
    }
  }

  /** The server asks how a forgotten transaction ended. */
  private static String orphan() throws Exception {
    try (Simple consumer = new Simple("orphan", "*", 2)) {
      producer.send(message("orphan", "orphan").build(), producer.beginTransaction());
      expect(consumer.take(1, 12, 16, true).size() == 1, "never asked, or not committed");
      return "";
    }
  }

  private static final Map<String, Scenario> SCENARIOS =
      Map.ofEntries(
          Map.entry("normal", Client::normal),
          Map.entry("delay", Client::delay),
          Map.entry("recall_before", Client::recallBefore),
          Map.entry("recall_after", Client::recallAfter),
          Map.entry("past", Client::past),
          Map.entry("over_limit", Client::overLimit),
          Map.entry("nack", Client::nack),
          Map.entry("tag", Client::tag),
          Map.entry("sql", Client::sql),
          Map.entry("fifo", Client::fifo),
          Map.entry("push", Client::push),
          Map.entry("transaction", Client::transaction),
          Map.entry("orphan", Client::orphan));

  public static void main(String[] arguments) throws Exception {
    mode = arguments[1];
    String[] names = arguments[2].split(",");
    var builder =
        ClientConfiguration.newBuilder()
            .setEndpoints(arguments[0])
            .enableSsl(mode.equals("tls"));
    // Not set where the server lets everybody in.
    String key = System.getenv("HOURGLASS_KEY");
    if (key != null) {
      builder.setCredentialProvider(
          new StaticSessionCredentialsProvider(key, System.getenv("HOURGLASS_SECRET")));
    }
    config = builder.build();
    String[] topics = new String[names.length];
    for (int i = 0; i < names.length; ++i) topics[i] = topicOf(names[i]);
    producer =
        PROVIDER
            .newProducerBuilder()
            .setClientConfiguration(config)
            .setTopics(topics)
            .setTransactionChecker(
                view ->
                    bodyOf(view).equals("orphan")
                        ? TransactionResolution.COMMIT
                        : TransactionResolution.ROLLBACK)
            .build();
    for (String name : names) {
      long beganMs = System.currentTimeMillis();
      String result = "ok";
      String note = "";
      try {
        note = SCENARIOS.get(name).run();
      } catch (Throwable error) {
        error.printStackTrace();
        result = "fail";
        note = error.toString().replace('\n', ' ');
      }
      System.out.println(
          "RESULT "
              + name
              + " "
              + result
              + " "
              + (System.currentTimeMillis() - beganMs)
              + " "
              + note);
      System.out.flush();
    }
    producer.close();
    System.exit(0);
  }
}
