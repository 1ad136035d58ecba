package conformance;

import io.temporal.activity.Activity;
import io.temporal.activity.ActivityExecutionContext;
import io.temporal.client.ActivityCompletionException;
import io.temporal.failure.ApplicationFailure;
import java.util.concurrent.CountDownLatch;

/** What the worker runs, and the test's end of the activity that it follows step by step. */
final class ActivitiesImpl implements Activities {
  final CountDownLatch started = new CountDownLatch(1);
  final CountDownLatch canceled = new CountDownLatch(1);

  @Override
  public String greet(String name) {
    return "Hello, " + name + "!";
  }

  @Override
  public int succeedOnThirdAttempt() {
    int attempt = Activity.getExecutionContext().getInfo().getAttempt();
    if (attempt < 3) {
      throw ApplicationFailure.newFailure("not yet", "NotYet");
    }
    return attempt;
  }

  @Override
  public String resume() {
    ActivityExecutionContext context = Activity.getExecutionContext();
    return context
        .getHeartbeatDetails(String.class)
        .orElseGet(
            () -> {
              context.heartbeat("page 7");
              throw ApplicationFailure.newFailure("lost the connection", "ConnectionLost");
            });
  }

  @Override
  public void heartbeatUntilCanceled() {
    started.countDown();
    try {
      while (true) {
        Activity.getExecutionContext().heartbeat(null);
        Thread.sleep(20);
      }
    } catch (ActivityCompletionException stop) {
      canceled.countDown();
      throw stop;
    } catch (InterruptedException interrupted) {
      throw Activity.wrap(interrupted);
    }
  }

  @Override
  public void runOutOfStock() {
    throw ApplicationFailure.newNonRetryableFailure("no more teapots", "OutOfStock", 3);
  }
}
