import org.apache.kafka.server.util.timer.KafkaWheel;

/** Kafka's wheel as one of those that are compared. */
final class KafkaContender implements WheelTrace.Contender {
  private final KafkaWheel wheel;
  private double expireNs;

  KafkaContender(int count) {
    wheel = new KafkaWheel(count);
  }

  @Override
  public void schedule(int id, long deadline) {
    wheel.schedule(id, deadline);
  }

  @Override
  public void cancel(int id) {
    wheel.cancel(id);
  }

  @Override
  public int[] expire(WheelTrace trace) {
    long start = System.nanoTime();
    wheel.expire();
    expireNs = (double) (System.nanoTime() - start) / trace.deadlines.length;
    return wheel.order;
  }

  @Override
  public double expireNs() {
    return expireNs;
  }

  @Override
  public int fired() {
    return wheel.fired;
  }
}
