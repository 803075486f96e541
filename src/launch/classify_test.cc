#include "launch/classify.h"

#include <gmock/gmock.h>

#include <csignal>

namespace assay::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ProcessEnd Exited(int code) {
  ProcessEnd end;
  end.exited = true;
  end.exit_code = code;
  return end;
}

ProcessEnd Signalled(int signal) {
  ProcessEnd end;
  end.signal = signal;
  return end;
}

job::Ended EndedWith(job::EndKind kind, const std::string& reason) {
  job::Ended ended;
  ended.kind = kind;
  ended.reason = reason;
  return ended;
}

job::RunRecord Classified(const EndFacts& facts, std::vector<job::Event> events, const std::string& tail = "") {
  job::RunRecord record;
  record.events = std::move(events);
  record.stderr_tail = tail;
  Classify(facts, record);
  return record;
}

job::Step StepNumber(int64_t number) {
  job::Step step;
  step.step = number;
  return step;
}

TEST(ClassifyTest, Done) {
  const auto record = Classified({.process = Exited(0)}, {EndedWith(job::EndKind::kDone, "")});
  EXPECT_EQ(record.end, job::RunEnd::kDone);
  EXPECT_EQ(record.reason, "");
}

TEST(ClassifyTest, TakesTheWorkersWord) {
  using job::EndKind;
  using job::RunEnd;
  const std::pair<EndKind, RunEnd> rows[] = {{EndKind::kOutOfMemory, RunEnd::kOutOfMemory},
                                             {EndKind::kInvalid, RunEnd::kInvalid},
                                             {EndKind::kDiverged, RunEnd::kDiverged},
                                             {EndKind::kError, RunEnd::kError}};
  for (const auto& [kind, end] : rows) {
    const auto record = Classified({.process = Exited(1)}, {job::Started{}, EndedWith(kind, "the reason")});
    EXPECT_EQ(record.end, end);
    EXPECT_EQ(record.reason, "the reason");
  }
}

TEST(ClassifyTest, AnEndThatNobodySawIsLost) {
  const auto record = Classified({.lost = "machine node1 was lost: no route"}, {job::Started{}, StepNumber(2)});
  EXPECT_EQ(record.end, job::RunEnd::kLost);
  EXPECT_EQ(record.reason, "machine node1 was lost: no route (after step 2)");
}

TEST(ClassifyTest, DoneNeedsExitCodeZero) {
  const auto record = Classified({.process = Exited(134)}, {EndedWith(job::EndKind::kDone, "")});
  EXPECT_EQ(record.end, job::RunEnd::kError);
  EXPECT_THAT(record.reason, HasSubstr("exit code 134"));
  EXPECT_EQ(Classified({.process = Signalled(SIGSEGV)}, {EndedWith(job::EndKind::kDone, "")}).end, job::RunEnd::kError);
}

TEST(ClassifyTest, Killed) {
  const auto record =
      Classified({.process = Signalled(SIGKILL)}, {job::Started{}, job::Loaded{}, StepNumber(1), StepNumber(2)});
  EXPECT_EQ(record.end, job::RunEnd::kKilled);
  EXPECT_EQ(record.signal, SIGKILL);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("killed by signal 9 (SIGKILL)"), HasSubstr("after step 2")));
}

/// The killer struck on a machine of 8 GiB of which 7 were free, when the run held `peak_gib`.
MemoryEvidence KillerStruckAt(int64_t peak_gib) {
  return {.killer_struck = true,
          .peak_bytes = peak_gib << 30,
          .free_bytes = int64_t{7} << 30,
          .total_bytes = int64_t{8} << 30};
}

TEST(ClassifyTest, KilledByTheKernelForMemory) {
  const auto record =
      Classified({.process = Signalled(SIGKILL), .memory = KillerStruckAt(6)}, {job::Started{}, job::Loaded{}});
  EXPECT_EQ(record.end, job::RunEnd::kOutOfMemory);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("out-of-memory killer"), HasSubstr("before its first step ended")));
  EXPECT_EQ(Classified({.process = Signalled(SIGSEGV), .memory = KillerStruckAt(6)}, {}).end, job::RunEnd::kKilled);
}

TEST(ClassifyTest, KilledByTheKernelForWhatOthersUsed) {
  const auto record = Classified({.process = Signalled(SIGKILL), .memory = KillerStruckAt(1)}, {job::Started{}});
  EXPECT_EQ(record.end, job::RunEnd::kKilled);
  EXPECT_EQ(record.signal, SIGKILL);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("held at most 1.00 GiB of the 7.00 GiB that were free"),
                                   HasSubstr("others used the memory")));
}

TEST(ClassifyTest, MemoryThatOthersHeldFromTheStartProvesNothing) {
  MemoryEvidence evidence = KillerStruckAt(3);
  evidence.free_bytes = int64_t{3} << 30;
  EXPECT_FALSE(evidence.IsThisRuns());
  EXPECT_TRUE(KillerStruckAt(7).IsThisRuns());
  EXPECT_FALSE(MemoryEvidence{.killer_struck = true}.IsThisRuns());
}

TEST(ClassifyTest, Vanished) {
  const auto record = Classified({.process = Exited(127)}, {}, "warning\nlibtorch.so: cannot open shared object\n");
  EXPECT_EQ(record.end, job::RunEnd::kVanished);
  EXPECT_EQ(record.reason,
            "the worker ended with exit code 127 before it said anything, without saying why: libtorch.so: cannot open "
            "shared object");
  EXPECT_THAT(Classified({.process = Exited(0)}, {job::Started{}}).reason, HasSubstr("while it loaded"));
}

TEST(ClassifyTest, InterruptedUnlessItWasDone) {
  const EndFacts facts = {.process = Exited(130), .interrupted = true};
  const auto record = Classified(facts, {StepNumber(3), EndedWith(job::EndKind::kError, "interrupted by SIGTERM")});
  EXPECT_EQ(record.end, job::RunEnd::kInterrupted);
  EXPECT_EQ(record.reason, "interrupted after step 3");
  EXPECT_EQ(Classified({.process = Exited(0), .interrupted = true}, {EndedWith(job::EndKind::kDone, "")}).end,
            job::RunEnd::kDone);
}

}  // namespace
}  // namespace assay::launch
