import java.util.Locale;

/**
 * The trace of wheels_bench.cc: the same random numbers, so the same deadlines,
 * the same batches, and the same checksum of what fired.
 */
public final class WheelTrace {
  public static final long MINUTE = 60_000;
  public static final int CHURN = 1_000_000;

  public final long[] deadlines;
  public int[] batch = new int[0];
  public long[] renewed = new long[0];

  private final long[] state = new long[4];
  private final boolean clustered;
  private final int[] order;
  private long next = 0;

  public WheelTrace(int count, boolean clustered) {
    this.clustered = clustered;
    long seed = 4711;
    for (int i = 0; i < 4; i++) {
      seed += 0x9e3779b97f4a7c15L;
      long z = seed;
      z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
      z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
      state[i] = z ^ (z >>> 31);
    }
    deadlines = new long[count];
    for (int i = 0; i < count; i++) deadlines[i] = someDeadline();
    order = new int[count];
    for (int i = 0; i < count; i++) order[i] = i;
    for (int i = count; i > 1; i--) {
      int j = (int) uniform(i);
      int swap = order[i - 1];
      order[i - 1] = order[j];
      order[j] = swap;
    }
  }

  private long nextRandom() {
    long result = Long.rotateLeft(state[1] * 5, 7) * 9;
    long shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = Long.rotateLeft(state[3], 45);
    return result;
  }

  private long uniform(long n) {
    long rejectBelow = Long.remainderUnsigned(-n, n);
    long value = nextRandom();
    while (Long.compareUnsigned(value, rejectBelow) < 0) value = nextRandom();
    return Long.remainderUnsigned(value, n);
  }

  private long someDeadline() {
    long any = 1 + uniform(MINUTE);
    long cluster = MINUTE / 100;
    return clustered ? (any + cluster - 1) / cluster * cluster : any;
  }

  public void nextBatch(int size) {
    batch = new int[size];
    renewed = new long[size];
    for (int i = 0; i < size; i++) {
      batch[i] = order[(int) (next++ % order.length)];
      renewed[i] = someDeadline();
    }
    for (int i = 0; i < size; i++) deadlines[batch[i]] = renewed[i];
  }

  /** 0 if anything fired out of order or not at all. */
  public long checksum(int[] fired, int count) {
    if (count != deadlines.length) return 0;
    long sum = 0, tickSum = 0;
    for (int i = 0; i < count; i++) {
      if (i > 0 && deadlines[fired[i]] != deadlines[fired[i - 1]]) {
        if (deadlines[fired[i]] < deadlines[fired[i - 1]]) return 0;
        sum = sum * 0x9e3779b97f4a7c15L + tickSum;
        tickSum = 0;
      }
      tickSum += (fired[i] + 1L) * 0xbf58476d1ce4e5b9L;
    }
    return (sum ^ tickSum) >>> 32;
  }

  public interface Contender {
    void schedule(int id, long deadline);
    void cancel(int id);
    /** Fires everything; what fired, in order. */
    int[] expire(WheelTrace trace);
    /** Nanoseconds that firing took. */
    double expireNs();
    int fired();
    /** False if its clock is the machine's: then only the number is checked. */
    default boolean hasExactOrder() {
      return true;
    }
  }

  public static void measure(
      String name, Contender contender, WheelTrace trace, boolean warmUp) {
    int count = trace.deadlines.length;
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    long before = runtime.totalMemory() - runtime.freeMemory();
    long start = System.nanoTime();
    for (int id = 0; id < count; id++) contender.schedule(id, trace.deadlines[id]);
    double fill = (double) (System.nanoTime() - start) / count;
    System.gc();
    double bytes =
        (double) (runtime.totalMemory() - runtime.freeMemory() - before) / count;
    int batch = Math.min(count / 2, 8192);
    double cancel = 0, schedule = 0;
    int done = 0;
    for (; done < CHURN; done += batch) {
      trace.nextBatch(batch);
      start = System.nanoTime();
      for (int id : trace.batch) contender.cancel(id);
      cancel += System.nanoTime() - start;
      start = System.nanoTime();
      for (int i = 0; i < batch; i++) {
        contender.schedule(trace.batch[i], trace.renewed[i]);
      }
      schedule += System.nanoTime() - start;
    }
    cancel /= done;
    schedule /= done;
    int[] fired = contender.expire(trace);
    long checksum = contender.hasExactOrder()
        ? trace.checksum(fired, contender.fired())
        : contender.fired() == count ? 1 : 0;
    if (warmUp) return;
    System.out.printf(
        Locale.ROOT,
        "{\"name\":\"%s/%s/%d\",\"fill_ns\":%.1f,\"schedule_ns\":%.1f,"
            + "\"cancel_ns\":%.1f,\"expire_ns\":%.1f,\"bytes\":%.1f,"
            + "\"checksum\":%d}%n",
        name, trace.clustered ? "clustered" : "uniform", count, fill, schedule,
        cancel, contender.expireNs(), bytes, checksum);
  }

  public static void main(String[] arguments) {
    String who = arguments[0];
    int count = Integer.parseInt(arguments[1]);
    boolean clustered = arguments.length > 2 && arguments[2].equals("clustered");
    // The first run is for the compiler to warm up.
    for (boolean warmUp : new boolean[] {true, false}) {
      int timers = warmUp ? Math.min(count, 100_000) : count;
      Contender contender = who.equals("kafka")
          ? new KafkaContender(timers)
          : new NettyContender(timers, warmUp);
      measure(who, contender, new WheelTrace(timers, clustered), warmUp);
    }
    System.exit(0);
  }
}
