package conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.temporal.client.WorkflowExecutionAlreadyStarted;
import io.temporal.client.WorkflowExecutionMetadata;
import io.temporal.client.WorkflowStub;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

final class RunsTest {
  private static Scene scene;

  @BeforeAll
  static void open() {
    scene = new Scene();
  }

  @AfterAll
  static void close() {
    scene.close();
  }

  @Test
  void timerFiresNoEarlierThanAsked() {
    WorkflowStub run = scene.start(Workflows.Sleep.class, 100);
    assertTrue(run.getResult(Long.class) >= 100);
  }

  @Test
  void resultOfAChildReachesItsParent() {
    WorkflowStub run = scene.start(Workflows.AskChild.class, "Ada");
    assertEquals("Hello, Ada! (from a child)", run.getResult(String.class));
    assertTrue(scene.eventTypes(run).contains("CHILD_WORKFLOW_EXECUTION_COMPLETED"));
  }

  @Test
  void continueAsNewGoesOnWithNewInput() {
    WorkflowStub run = scene.start(Workflows.CountDown.class, 3, "");
    String first = run.getExecution().getRunId();
    assertEquals("3 2 1 ", run.getResult(String.class));
    String workflowId = run.getExecution().getWorkflowId();
    var latest = scene.client.newUntypedWorkflowStub(workflowId).describe();
    assertNotEquals(first, latest.getExecution().getRunId());
    assertEquals(first, latest.getWorkflowExecutionInfo().getFirstRunId());
  }

  @Test
  void resultOfARetriedWorkflowIsThatOfItsLastAttempt() {
    WorkflowStub run = scene.startRetried(Workflows.FailOnce.class);
    assertEquals(2, run.getResult(Integer.class));
  }

  @Test
  void sideEffectAndVersionKeepTheirValueThroughReplay() {
    WorkflowStub run = scene.start(Workflows.DrawOnce.class);
    String drawn = run.getResult(String.class);
    assertTrue(drawn.endsWith("(version 1)"), drawn);
    // A closed run answers from a replay of its history.
    assertEquals(drawn, run.query("drawn", String.class));
    assertTrue(scene.eventTypes(run).contains("MARKER_RECORDED"));
  }

  @Test
  void secondStartOfARunningWorkflowIsRefused() {
    WorkflowStub run = scene.start(Workflows.AnswerQueries.class, "Ada");
    String workflowId = run.getExecution().getWorkflowId();
    WorkflowExecutionAlreadyStarted refused =
        assertThrows(
            WorkflowExecutionAlreadyStarted.class,
            () -> scene.startAs(workflowId, Workflows.AnswerQueries.class, "Grace"));
    assertEquals(run.getExecution(), refused.getExecution());
    run.signal("finish");
    run.getResult(Void.class);
  }

  @Test
  void listFindsARunByItsType() throws InterruptedException {
    WorkflowStub run = scene.start(Workflows.JavaListed.class);
    run.getResult(Void.class);
    // Lists may lag behind writes: ask again, until the test's time is up.
    while (!listed("JavaListed").contains(run.getExecution().getRunId())) {
      Thread.sleep(50);
    }
  }

  private static List<String> listed(String type) {
    String query = "WorkflowType = '" + type + "' AND ExecutionStatus = 'Completed'";
    List<WorkflowExecutionMetadata> found = scene.client.listExecutions(query).toList();
    found.forEach(run -> assertEquals(type, run.getWorkflowType()));
    return found.stream().map(run -> run.getExecution().getRunId()).toList();
  }
}
