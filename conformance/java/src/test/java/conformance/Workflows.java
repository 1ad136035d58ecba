package conformance;

import io.temporal.activity.ActivityCancellationType;
import io.temporal.activity.ActivityOptions;
import io.temporal.activity.LocalActivityOptions;
import io.temporal.common.RetryOptions;
import io.temporal.failure.ApplicationFailure;
import io.temporal.workflow.QueryMethod;
import io.temporal.workflow.SignalMethod;
import io.temporal.workflow.UpdateMethod;
import io.temporal.workflow.UpdateValidatorMethod;
import io.temporal.workflow.Workflow;
import io.temporal.workflow.WorkflowInterface;
import io.temporal.workflow.WorkflowMethod;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** The workflows under test: each an interface, which names its type, and what runs behind it. */
final class Workflows {
  static final Class<?>[] ALL = {
    GreetByActivityImpl.class,
    GreetByLocalActivityImpl.class,
    AttemptUntilSuccessImpl.class,
    ResumeFromHeartbeatImpl.class,
    WaitForActivityImpl.class,
    FailInActivityImpl.class,
    CollectSignalsImpl.class,
    AnswerQueriesImpl.class,
    KeepTotalImpl.class,
    SleepImpl.class,
    AskChildImpl.class,
    CountDownImpl.class,
    FailOnceImpl.class,
    DrawOnceImpl.class,
    JavaListedImpl.class,
  };

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private static ActivityOptions.Builder options() {
    return ActivityOptions.newBuilder().setStartToCloseTimeout(PATIENCE);
  }

  private static Activities activities(ActivityOptions.Builder options) {
    return Workflow.newActivityStub(Activities.class, options.build());
  }

  static RetryOptions atOnce() {
    return RetryOptions.newBuilder()
        .setInitialInterval(Duration.ofMillis(1))
        .setBackoffCoefficient(1)
        .build();
  }

  @WorkflowInterface
  public interface GreetByActivity {
    @WorkflowMethod
    String run(String name);
  }

  public static final class GreetByActivityImpl implements GreetByActivity {
    @Override
    public String run(String name) {
      return activities(options()).greet(name);
    }
  }

  @WorkflowInterface
  public interface GreetByLocalActivity {
    @WorkflowMethod
    String run(String name);
  }

  public static final class GreetByLocalActivityImpl implements GreetByLocalActivity {
    @Override
    public String run(String name) {
      LocalActivityOptions options =
          LocalActivityOptions.newBuilder().setStartToCloseTimeout(PATIENCE).build();
      return Workflow.newLocalActivityStub(Activities.class, options).greet(name);
    }
  }

  @WorkflowInterface
  public interface AttemptUntilSuccess {
    @WorkflowMethod
    int run();
  }

  public static final class AttemptUntilSuccessImpl implements AttemptUntilSuccess {
    @Override
    public int run() {
      return activities(options().setRetryOptions(atOnce())).succeedOnThirdAttempt();
    }
  }

  @WorkflowInterface
  public interface ResumeFromHeartbeat {
    @WorkflowMethod
    String run();
  }

  public static final class ResumeFromHeartbeatImpl implements ResumeFromHeartbeat {
    @Override
    public String run() {
      return activities(options().setRetryOptions(atOnce()).setHeartbeatTimeout(PATIENCE)).resume();
    }
  }

  @WorkflowInterface
  public interface WaitForActivity {
    @WorkflowMethod
    void run();
  }

  public static final class WaitForActivityImpl implements WaitForActivity {
    @Override
    public void run() {
      activities(
              options()
                  .setHeartbeatTimeout(PATIENCE)
                  .setCancellationType(ActivityCancellationType.WAIT_CANCELLATION_COMPLETED))
          .heartbeatUntilCanceled();
    }
  }

  @WorkflowInterface
  public interface FailInActivity {
    @WorkflowMethod
    void run();
  }

  public static final class FailInActivityImpl implements FailInActivity {
    @Override
    public void run() {
      activities(options()).runOutOfStock();
    }
  }

  @WorkflowInterface
  public interface CollectSignals {
    @WorkflowMethod
    List<Integer> run(int count);

    @SignalMethod
    void number(int number);
  }

  public static final class CollectSignalsImpl implements CollectSignals {
    private final List<Integer> received = new ArrayList<>();

    @Override
    public List<Integer> run(int count) {
      Workflow.await(() -> received.size() == count);
      return received;
    }

    @Override
    public void number(int number) {
      received.add(number);
    }
  }

  @WorkflowInterface
  public interface AnswerQueries {
    @WorkflowMethod
    void run(String name);

    @QueryMethod
    String state();

    @SignalMethod
    void finish();
  }

  public static final class AnswerQueriesImpl implements AnswerQueries {
    private String state = "not begun";
    private boolean finished;

    @Override
    public void run(String name) {
      state = "waiting for " + name;
      Workflow.await(() -> finished);
      state = "done with " + name;
    }

    @Override
    public String state() {
      return state;
    }

    @Override
    public void finish() {
      finished = true;
    }
  }

  @WorkflowInterface
  public interface KeepTotal {
    @WorkflowMethod
    int run();

    @UpdateMethod
    int add(int number);

    @UpdateValidatorMethod(updateName = "add")
    void onlyPositive(int number);

    @SignalMethod
    void finish();
  }

  public static final class KeepTotalImpl implements KeepTotal {
    private int total;
    private boolean finished;

    @Override
    public int run() {
      Workflow.await(() -> finished);
      return total;
    }

    @Override
    public int add(int number) {
      total += number;
      return total;
    }

    @Override
    public void onlyPositive(int number) {
      if (number <= 0) {
        throw new IllegalArgumentException("only positive numbers");
      }
    }

    @Override
    public void finish() {
      finished = true;
    }
  }

  @WorkflowInterface
  public interface Sleep {
    /** Returns how long it slept by the server's clock. */
    @WorkflowMethod
    long run(long milliseconds);
  }

  public static final class SleepImpl implements Sleep {
    @Override
    public long run(long milliseconds) {
      long began = Workflow.currentTimeMillis();
      Workflow.sleep(milliseconds);
      return Workflow.currentTimeMillis() - began;
    }
  }

  @WorkflowInterface
  public interface AskChild {
    @WorkflowMethod
    String run(String name);
  }

  public static final class AskChildImpl implements AskChild {
    @Override
    public String run(String name) {
      return Workflow.newChildWorkflowStub(GreetByActivity.class).run(name) + " (from a child)";
    }
  }

  @WorkflowInterface
  public interface CountDown {
    @WorkflowMethod
    String run(int from, String said);
  }

  public static final class CountDownImpl implements CountDown {
    @Override
    public String run(int from, String said) {
      if (from > 0) {
        Workflow.continueAsNew(from - 1, said + from + " ");
      }
      return said;
    }
  }

  @WorkflowInterface
  public interface FailOnce {
    /** Returns the attempt that succeeded. */
    @WorkflowMethod
    int run();
  }

  public static final class FailOnceImpl implements FailOnce {
    @Override
    public int run() {
      int attempt = Workflow.getInfo().getAttempt();
      if (attempt == 1) {
        throw ApplicationFailure.newFailure("not yet", "NotYet");
      }
      return attempt;
    }
  }

  @WorkflowInterface
  public interface DrawOnce {
    @WorkflowMethod
    String run();

    @QueryMethod
    String drawn();
  }

  public static final class DrawOnceImpl implements DrawOnce {
    private String drawn = "nothing";

    @Override
    public String run() {
      drawn = Workflow.sideEffect(String.class, () -> UUID.randomUUID().toString());
      if (Workflow.getVersion("with-suffix", Workflow.DEFAULT_VERSION, 1) == 1) {
        drawn += " (version 1)";
      }
      return drawn;
    }

    @Override
    public String drawn() {
      return drawn;
    }
  }

  @WorkflowInterface
  public interface JavaListed {
    @WorkflowMethod
    void run();
  }

  public static final class JavaListedImpl implements JavaListed {
    @Override
    public void run() {}
  }

  private Workflows() {}
}
