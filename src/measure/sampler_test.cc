#include "measure/sampler.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "measure/proc_file.h"
#include "measure/sample_collector.h"
#include "measure/utilization.h"

namespace assay::measure {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::SizeIs;

constexpr double kMib = 1048576;

void SleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

void SpinFor(double seconds) {
  const double end = MonotonicSeconds() + seconds;
  while (MonotonicSeconds() < end) {
  }
}

// A child process that runs `work`; killed and reaped at the end of its scope.
class Child {
 public:
  explicit Child(const std::function<void()>& work) : pid_(::fork()) {
    if (pid_ == 0) {
      work();
      ::_exit(0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

SampleSeries SampleFor(pid_t pid, double seconds, double hz = 50) {
  Sampler sampler({.hz = hz, .nvml = nullptr, .gpus = {}});
  sampler.Start(pid);
  SleepFor(seconds);
  return sampler.Stop();
}

void ExpectEqualLengths(const SampleSeries& series) {
  for (const auto& [name, column] : ToColumns(series)) {
    EXPECT_EQ(column.size(), series.size()) << name;
  }
}

// CPU time that a process has used, by its own clock.
double CpuSeconds(pid_t pid) {
  clockid_t clock;
  timespec time = {};
  if (::clock_getcpuclockid(pid, &clock) == 0) {
    ::clock_gettime(clock, &time);
  }
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// What a process has used between two samples: of the CPU's time the most, and what is used for sure.
struct CpuUse {
  double most;
  double least;
};

// Samples `pid` until `spinner` has used the CPU for a while, however busy the machine is.
CpuUse SampleUntilBusy(pid_t pid, pid_t spinner, SampleSeries& series) {
  constexpr double kEnough = 0.6;
  Sampler sampler({.hz = 50, .nvml = nullptr, .gpus = {}});
  const double before = CpuSeconds(spinner);
  sampler.Start(pid);
  const double first_sampled = CpuSeconds(spinner);
  const double deadline = MonotonicSeconds() + 300;
  double last_to_be_sampled = first_sampled;
  while (last_to_be_sampled - first_sampled < kEnough && MonotonicSeconds() < deadline) {
    SleepFor(0.02);
    last_to_be_sampled = CpuSeconds(spinner);
  }
  series = sampler.Stop();
  return {.most = CpuSeconds(spinner) - before, .least = last_to_be_sampled - first_sampled};
}

double SampledSeconds(double percent, const SampleSeries& series) {
  return percent / 100 * (series.time_s.back() - series.time_s.front());
}

TEST(SamplerTest, SeesABusyProcess) {
  const Child child([] { SpinFor(60); });
  SampleSeries series;
  const CpuUse used = SampleUntilBusy(child.pid(), child.pid(), series);
  ExpectEqualLengths(series);
  ASSERT_GE(series.size(), 3);
  const Utilization utilization = Summarize(series);
  EXPECT_LE(SampledSeconds(utilization.cpu_compute_utilization, series), used.most + 1e-6);
  EXPECT_GE(SampledSeconds(utilization.cpu_compute_utilization, series), 0.5 * used.least);
  EXPECT_GT(utilization.cpu_memory_utilization, 0);
  EXPECT_LT(utilization.cpu_memory_utilization, 100);
  EXPECT_GT(utilization.cpu_memory_process_peak_bytes, 0);
}

TEST(SamplerTest, SeesAnIdleProcess) {
  const Child child([] { SleepFor(30); });
  EXPECT_LT(Summarize(SampleFor(child.pid(), 0.3)).cpu_compute_tree_utilization, 10);
}

TEST(SamplerTest, CountsChildrenInTheTreeOnly) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Child child([&] {
    const Child grandchild([] { SpinFor(60); });
    const pid_t pid = grandchild.pid();
    static_cast<void>(::write(ends[1], &pid, sizeof pid));
    SleepFor(60);
  });
  pid_t grandchild = 0;
  ASSERT_EQ(::read(ends[0], &grandchild, sizeof grandchild), sizeof grandchild);
  SampleSeries series;
  const CpuUse used = SampleUntilBusy(child.pid(), grandchild, series);
  ::kill(grandchild, SIGKILL);
  ::close(ends[0]);
  ::close(ends[1]);
  const Utilization utilization = Summarize(series);
  EXPECT_LT(utilization.cpu_compute_utilization, 10);
  EXPECT_GE(SampledSeconds(utilization.cpu_compute_tree_utilization, series), 0.5 * used.least);
  EXPECT_GT(series.rss_tree_bytes.back(), series.rss_process_bytes.back());
}

double WrittenBytes(pid_t pid) {
  std::ifstream io("/proc/" + std::to_string(pid) + "/io");
  const std::string text{std::istreambuf_iterator<char>(io), {}};
  return std::stod(text.substr(text.find("\nwrite_bytes: ") + std::strlen("\nwrite_bytes: ")));
}

TEST(SamplerTest, AddsUpWhatAllRootsWrite) {
  constexpr size_t kBytes = size_t{1} << 20;
  int go[2];
  int done[2];
  ASSERT_EQ(::pipe(go) + ::pipe(done), 0);
  const auto write_when_told = [&](const char* name) {
    char byte = 0;
    static_cast<void>(::read(go[0], &byte, 1));
    std::ofstream(::testing::TempDir() + name + std::to_string(::getpid())) << std::string(kBytes, 'x') << std::flush;
    static_cast<void>(::write(done[1], &byte, 1));
    SleepFor(60);
  };
  const Child first([&] { write_when_told("first"); });
  const Child second([&] { write_when_told("second"); });
  const double before = WrittenBytes(first.pid()) + WrittenBytes(second.pid());
  Sampler sampler({.hz = 50, .nvml = nullptr, .gpus = {}});
  sampler.Start({first.pid(), second.pid()});
  char bytes[2] = {};
  static_cast<void>(::write(go[1], bytes, 2));
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(::read(done[0], bytes, 1), 1);
  }
  SleepFor(0.1);
  const double written = WrittenBytes(first.pid()) + WrittenBytes(second.pid()) - before;
  EXPECT_EQ(sampler.Stop().disk_write_bytes.back(), written);
  for (const Child* child : {&first, &second}) {
    for (const char* name : {"first", "second"}) {
      std::remove((::testing::TempDir() + name + std::to_string(child->pid())).c_str());
    }
  }
}

// The child allocates when it is told to, and gives the memory back when it is told again.
TEST(SamplerTest, SeesMemoryGrowAndKeepsThePeak) {
  int commands[2];
  int answers[2];
  ASSERT_EQ(::pipe(commands), 0);
  ASSERT_EQ(::pipe(answers), 0);
  const Child child([&] {
    char byte = 0;
    const size_t size = 64 << 20;
    static_cast<void>(::read(commands[0], &byte, 1));
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(memory, 1, size);
    ::munmap(memory, size);
    static_cast<void>(::write(answers[1], &byte, 1));
    SleepFor(60);
  });
  Sampler sampler({.hz = 0.1, .nvml = nullptr, .gpus = {}});  // no sample falls into the time of the peak
  sampler.Start(child.pid());
  char byte = 'x';
  ASSERT_EQ(::write(commands[1], &byte, 1), 1);
  ASSERT_EQ(::read(answers[0], &byte, 1), 1);
  const SampleSeries series = sampler.Stop();
  for (const int fd : {commands[0], commands[1], answers[0], answers[1]}) {
    ::close(fd);
  }
  const double first = series.rss_process_bytes.front();
  EXPECT_GT(series.rss_process_peak_bytes - first, 48 * kMib);
  EXPECT_LT(series.rss_process_bytes.back() - first, 32 * kMib);
}

TEST(SamplerTest, SeesMemoryThatIsHeld) {
  int answers[2];
  ASSERT_EQ(::pipe(answers), 0);
  const Child child([&] {
    const std::string memory(64 << 20, 'x');
    static_cast<void>(::write(answers[1], memory.data(), 1));
    SleepFor(60);
  });
  char byte = 0;
  ASSERT_EQ(::read(answers[0], &byte, 1), 1);
  EXPECT_GT(SampleFor(child.pid(), 0).rss_tree_bytes.back(), 64 * kMib);
  ::close(answers[0]);
  ::close(answers[1]);
}

TEST(SamplerTest, TheFirstSampleComesAtOnce) {
  const Child child([] { SleepFor(30); });
  Sampler sampler({.hz = 0.001, .nvml = nullptr, .gpus = {}});
  sampler.Start(child.pid());
  EXPECT_GT(sampler.Latest().rss_tree_bytes, 0);
  const SampleSeries series = sampler.Stop();
  EXPECT_THAT(series.time_s, SizeIs(2));  // the first and the last
  EXPECT_LT(series.time_s.front(), 500);
}

TEST(SamplerTest, AVanishedProcessEndsTheSeries) {
  const Child child([] { SleepFor(30); });
  Sampler sampler({.hz = 50, .nvml = nullptr, .gpus = {}});
  const double begin = MonotonicSeconds();
  sampler.Start(child.pid());
  ::kill(child.pid(), SIGKILL);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT), 0);
  const double ended = MonotonicSeconds() - begin;
  SleepFor(0.1);
  const SampleSeries series = sampler.Stop();
  ExpectEqualLengths(series);
  ASSERT_GE(series.size(), 1);
  EXPECT_LE(series.time_s.back(), ended);
  EXPECT_GT(series.rss_process_bytes.back(), 0);
}

// A process that is killed gives its memory back before it is a zombie, and takes its time where it has much.
TEST(SamplerTest, AProcessThatGivesItsMemoryBackLivesNoMore) {
  int answers[2];
  ASSERT_EQ(::pipe(answers), 0);
  const Child child([&] {
    const std::string memory(256 << 20, 'x');
    static_cast<void>(::write(answers[1], memory.data(), 1));
    SleepFor(60);
  });
  char byte = 0;
  ASSERT_EQ(::read(answers[0], &byte, 1), 1);
  Sampler sampler({.hz = 2000, .nvml = nullptr, .gpus = {}});
  sampler.Start(child.pid());
  ::kill(child.pid(), SIGKILL);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT), 0);
  const SampleSeries series = sampler.Stop();
  ASSERT_GE(series.size(), 1);
  EXPECT_THAT(series.rss_process_bytes, Each(Gt(256 * kMib)));
  ::close(answers[0]);
  ::close(answers[1]);
}

// Ranks that wait for a starved one sleep, which is no wait for a processor.
TEST(SamplerTest, SeesTheWaitOfAnyRankForAProcessor) {
  cpu_set_t one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(one), &one), 0);
  int cpu = 0;
  while (CPU_ISSET(cpu, &one) == 0) {
    ++cpu;
  }
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  const auto spin_there = [&one] {
    ::sched_setaffinity(0, sizeof(one), &one);
    SpinFor(60);
  };
  const Child sleeper([] { SleepFor(60); });
  const Child starved(spin_there);
  const Child rival(spin_there);
  Sampler sampler({.hz = 50, .nvml = nullptr, .gpus = {}});
  double waited = 0;
  for (int tries = 0; tries < 50 && waited < 0.05; ++tries) {
    sampler.Start({sleeper.pid(), starved.pid()});
    SleepFor(0.2);
    waited = sampler.Stop().cpu_wait_seconds;
  }
  EXPECT_GE(waited, 0.05);
}

/// What this thread has waited for a processor.
double OwnWaitSeconds() {
  std::ifstream schedstat("/proc/thread-self/schedstat");
  double ran_ns = 0;
  double waited_ns = 0;
  schedstat >> ran_ns >> waited_ns;
  return 1e-9 * waited_ns;
}

// The first sample is taken by who starts the sampler, all others by its thread. That one waits here for all of the
// time that it says has passed, so nothing stood still; who started it has a processor or sleeps.
TEST(SampleCollectorTest, TheWaitForAProcessorIsThatOfTheThreadThatGoesOn) {
  const Child watched([] { SleepFor(60); });
  SampleCollector collector({watched.pid()}, nullptr, {});
  ASSERT_TRUE(collector.Collect(0, true));
  const int cpu = ::sched_getcpu();
  const auto stay_there = [cpu] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof(one), &one);
  };
  const Child rival([&] {
    stay_there();
    SpinFor(300);
  });
  constexpr double kLongerThanASamplerSleeps = 2.5;
  double waited = 0;
  std::thread sampler([&] {
    stay_there();
    for (const double end = MonotonicSeconds() + 120; waited < kLongerThanASamplerSleeps && MonotonicSeconds() < end;) {
      SpinFor(0.01);
      waited = OwnWaitSeconds();
    }
    EXPECT_TRUE(collector.Collect(waited, false));
  });
  sampler.join();
  ASSERT_GE(waited, kLongerThanASamplerSleeps);
  EXPECT_EQ(collector.series().stood_still_seconds, 0);
}

TEST(SamplerTest, NoProcessGivesNoSamples) {
  EXPECT_EQ(SampleFor(1 << 30, 0.01).size(), 0);
  Sampler never_started;
  EXPECT_EQ(never_started.Stop().size(), 0);
  EXPECT_EQ(never_started.Latest().time_s, 0);
}

TEST(SamplerTest, CanBeStartedAgain) {
  const Child child([] { SleepFor(30); });
  Sampler sampler({.hz = 50, .nvml = nullptr, .gpus = {}});
  sampler.Start(child.pid());
  EXPECT_GE(sampler.Stop().size(), 1);
  sampler.Start(child.pid());
  EXPECT_GE(sampler.Stop().size(), 1);
}

TEST(SamplerTest, CountsBytesWritten) {
  auto folder = TemporaryDirectory::Create("assay-sampler-test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/x";
  int commands[2];
  ASSERT_EQ(::pipe(commands), 0);
  const Child child([&] {
    char byte = 0;
    static_cast<void>(::read(commands[0], &byte, 1));
    static_cast<void>(WriteFileAtomically(path, std::string(1 << 20, 'x')));
    SleepFor(60);
  });
  Sampler sampler({.hz = 50, .nvml = nullptr, .gpus = {}});
  sampler.Start(child.pid());
  ASSERT_EQ(::write(commands[1], "x", 1), 1);
  const double deadline = MonotonicSeconds() + 300;
  while (!FileExists(path) && MonotonicSeconds() < deadline) {
    SleepFor(0.01);
  }
  const Utilization utilization = Summarize(sampler.Stop());
  ::close(commands[0]);
  ::close(commands[1]);
  // A folder in memory has no storage below it.
  EXPECT_TRUE(utilization.disk_write_bytes == 0 || utilization.disk_write_bytes >= kMib);
  EXPECT_TRUE(FileExists(path));
}

TEST(SamplerTest, SamplesGpusBesideTheProcess) {
  const Child child([] { SleepFor(30); });
  Sampler sampler({.hz = 50, .nvml = Nvml::Load(FAKE_NVML), .gpus = std::vector<int>{1}});
  sampler.Start(child.pid());
  SleepFor(0.1);
  const SampleSeries series = sampler.Stop();
  ExpectEqualLengths(series);
  ASSERT_THAT(series.gpus, SizeIs(1));
  const Utilization utilization = Summarize(series);
  EXPECT_EQ(utilization.gpu_compute_utilization.avg, 80);
  EXPECT_EQ(utilization.gpu_memory_utilization.avg, 75);
  EXPECT_EQ(utilization.gpu_power_percent.avg, 75);
  // It has no counter: 300 W over the time.
  EXPECT_NEAR(utilization.gpu_energy_joules, 300 * (series.time_s.back() - series.time_s.front()), 1e-6);
}

TEST(ProcessStatTest, ReadsTheFieldsAfterAnyName) {
  std::string line =
      "7 (a) R (b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 30 10 20 0 4 0 900 1000000 25 18446744073709551615";
  const auto stat = ParseProcessStat(line);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->state, 'S');
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_DOUBLE_EQ(stat->own_cpu_seconds, 300 / ticks);
  EXPECT_DOUBLE_EQ(stat->children_cpu_seconds, 40 / ticks);
  EXPECT_EQ(stat->rss_bytes, 25.0 * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(stat->virtual_bytes, 1000000);
  EXPECT_TRUE(stat->lives());
  EXPECT_FALSE(ParseProcessStat("").has_value());
  EXPECT_FALSE(ParseProcessStat("7 (a").has_value());
}

TEST(NumberAfterTest, FindsKeysAtTheStartOfALine) {
  const std::string text = "cancelled_write_bytes: 5\nwrite_bytes: 12\nVmHWM:\t  340 kB\n";
  EXPECT_EQ(NumberAfter(text, "write_bytes"), 12);
  EXPECT_EQ(NumberAfter(text, "VmHWM"), 340);
  EXPECT_EQ(NumberAfter(text, "missing"), 0);
}

}  // namespace
}  // namespace assay::measure
