package conformance;

import io.temporal.activity.ActivityInterface;

/** The activities that the tests' workflows use. */
@ActivityInterface
public interface Activities {
  String greet(String name);

  int succeedOnThirdAttempt();

  String resume();

  void heartbeatUntilCanceled();

  void runOutOfStock();
}
