package conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.temporal.client.WorkflowStub;
import io.temporal.client.WorkflowUpdateException;
import io.temporal.failure.ApplicationFailure;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

final class MessagesTest {
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
  void signalsArriveInOrder() {
    List<Integer> sent = IntStream.range(0, 20).boxed().toList();
    WorkflowStub run = scene.start(Workflows.CollectSignals.class, sent.size());
    sent.forEach(number -> run.signal("number", number));
    assertEquals(sent, Arrays.asList(run.getResult(Integer[].class)));
  }

  @Test
  void queryAnswersWhileTheRunIsOpenAndAfterItClosed() {
    WorkflowStub run = scene.start(Workflows.AnswerQueries.class, "Ada");
    assertEquals("waiting for Ada", run.query("state", String.class));
    run.signal("finish");
    run.getResult(Void.class);
    assertEquals("done with Ada", run.query("state", String.class));
  }

  @Test
  void updateIsValidatedBeforeItIsAccepted() {
    WorkflowStub run = scene.start(Workflows.KeepTotal.class);
    WorkflowUpdateException rejected =
        assertThrows(WorkflowUpdateException.class, () -> run.update("add", Integer.class, -1));
    ApplicationFailure cause = assertInstanceOf(ApplicationFailure.class, rejected.getCause());
    assertEquals("only positive numbers", cause.getOriginalMessage());

    assertEquals(40, run.update("add", Integer.class, 40));
    assertEquals(42, run.update("add", Integer.class, 2));

    run.signal("finish");
    assertEquals(42, run.getResult(Integer.class));
    List<String> types = scene.eventTypes(run);
    assertEquals(2, Collections.frequency(types, "WORKFLOW_EXECUTION_UPDATE_ACCEPTED"));
  }
}
