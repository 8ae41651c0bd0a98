package org.apache.kafka.server.util.timer;

import java.util.concurrent.DelayQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.kafka.common.utils.Time;

/**
 * Kafka's TimingWheel and DelayQueue, put together as its SystemTimer does, on
 * the calling thread. In Kafka's package, because its constructors are not
 * public. Its deadlines are absolute, so the trace can lie in the past: every
 * bucket of its queue is due already, and time need not pass.
 */
public final class KafkaWheel {
  private final long base = Time.SYSTEM.hiResClockMs() - 61_000;
  private final DelayQueue<TimerTaskList> queue = new DelayQueue<>();
  private final TimingWheel wheel =
      new TimingWheel(1, 20, base, new AtomicInteger(), queue);
  private final TimerTaskEntry[] entries;
  public final int[] order;
  public int fired = 0;

  private final class Task extends TimerTask {
    private final int id;

    Task(int id) {
      super(0);
      this.id = id;
    }

    @Override
    public void run() {
      order[fired++] = id;
    }
  }

  public KafkaWheel(int count) {
    entries = new TimerTaskEntry[count];
    order = new int[count];
  }

  public void schedule(int id, long deadline) {
    entries[id] = new TimerTaskEntry(new Task(id), base + deadline);
    wheel.add(entries[id]);
  }

  public void cancel(int id) {
    entries[id].timerTask.cancel();
  }

  public void expire() {
    Consumer<TimerTaskEntry> again = entry -> {
      if (!wheel.add(entry) && !entry.cancelled()) entry.timerTask.run();
    };
    for (TimerTaskList bucket = queue.poll(); bucket != null; bucket = queue.poll()) {
      wheel.advanceClock(bucket.getExpiration());
      bucket.flush(again);
    }
  }
}
