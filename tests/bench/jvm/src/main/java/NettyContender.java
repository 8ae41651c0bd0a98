import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Netty's HashedWheelTimer in its own time: it takes no clock and no absolute
 * deadline. So its firing is not timed by a watch: it is the processor time of
 * its worker, over all it did (moving timers in, taking the cancelled out,
 * firing). Its order cannot be exact; that all fired is checked.
 */
final class NettyContender implements WheelTrace.Contender {
  private final HashedWheelTimer timer;
  private final Timeout[] timeouts;
  private final TimerTask task;
  private final AtomicInteger fired = new AtomicInteger();
  private final boolean skipWaiting;
  private volatile Thread worker;
  private double expireNs;

  NettyContender(int count, boolean skipWaiting) {
    this.skipWaiting = skipWaiting;
    timer = new HashedWheelTimer(
        runnable -> worker = new Thread(runnable, "wheel"), 1,
        TimeUnit.MILLISECONDS, 65536, false, -1);
    timeouts = new Timeout[count];
    task = timeout -> fired.incrementAndGet();
    timer.start();
  }

  @Override
  public void schedule(int id, long deadline) {
    timeouts[id] = timer.newTimeout(task, deadline + 1000, TimeUnit.MILLISECONDS);
  }

  @Override
  public void cancel(int id) {
    timeouts[id].cancel();
  }

  @Override
  public int[] expire(WheelTrace trace) {
    try {
      long patienceMs = skipWaiting ? 0 : WheelTrace.MINUTE + 60_000;
      for (; patienceMs > 0 && fired.get() < timeouts.length; patienceMs -= 50) {
        Thread.sleep(50);
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
    long cpu = ManagementFactory.getThreadMXBean().getThreadCpuTime(worker.getId());
    expireNs = (double) cpu / timeouts.length;
    timer.stop();
    return new int[0];
  }

  @Override
  public double expireNs() {
    return expireNs;
  }

  @Override
  public int fired() {
    return fired.get();
  }

  @Override
  public boolean hasExactOrder() {
    return false;
  }
}
