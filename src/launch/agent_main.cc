// assay-agent: runs and samples the ranks of a plan that are this machine's, and tells the controller what it sees.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/file_descriptor.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/terminal.h"
#include "base/text.h"
#include "job/controller_watch.h"
#include "launch/agent_lines.h"
#include "launch/node_facts.h"
#include "launch/node_run.h"
#include "launch/rank_variables.h"
#include "launch/worker_program.h"
#include "version.h"

namespace assay::launch {
namespace {

struct AgentOptions {
  std::string plan;
  std::string lines;  ///< folder; empty: standard output
  int node = -1;      ///< -1: a launcher that starts an agent for each rank tells it by RANK
  std::string meet;   ///< HOST:PORT
  std::string job;
  std::string alive;  ///< file that the controller touches while it lives; empty: none
  bool describe = false;
  LaunchOptions launch;
};

/// Lines go out one by one, each at once: readers of a file or a pipe never see half of one that is short.
class LineWriter {
 public:
  static Result<LineWriter> Open(const AgentOptions& options, int node) {
    if (options.lines.empty()) {
      return LineWriter(FileDescriptor(::dup(STDOUT_FILENO)), node);
    }
    const std::string path = fmt::format("{}/{}.jsonl", options.lines, node);
    FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    return file.valid() ? Result<LineWriter>(LineWriter(std::move(file), node)) : ErrnoStatus(errno, "open", path);
  }

  template <typename Said>
  void Say(Said said) const {
    const std::string text = ToJsonLine(AgentLine{.node = node_, .said = std::move(said)}) + "\n";
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = RetryOnSignal([&] { return ::write(file_.get(), text.data() + done, text.size() - done); });
      if (n < 0) {
        return;  // nobody listens: the lifeline ends us
      }
      done += static_cast<size_t>(n);
    }
  }

 private:
  LineWriter(FileDescriptor file, int node) : file_(std::move(file)), node_(node) {}
  FileDescriptor file_;
  int node_;
};

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

int NumberOr(const char* variable, int fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::atoi(text);
}

Result<MeetingPlace> MeetingPlaceOf(const AgentOptions& options) {
  const size_t colon = options.meet.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return Status::InvalidArgument(fmt::format("--meet is HOST:PORT, not '{}'", options.meet));
  }
  return MeetingPlace{
      .port = std::atoi(options.meet.c_str() + colon + 1), .job = options.job, .host = options.meet.substr(0, colon)};
}

/// The ranks of this machine out of all.
Result<NodeShare> ShareOf(const AgentOptions& options, const job::TrainingPlan& training) {
  const auto ranks = static_cast<int>(training.number_ranks);
  const auto nodes = static_cast<int>(training.number_nodes);
  if (options.node < 0) {
    return NodeShare{.first_rank = NumberOr("RANK", 0),
                     .first_local_rank = NumberOr("LOCAL_RANK", 0),
                     .ranks_of_machine = NumberOr("LOCAL_WORLD_SIZE", 1)};
  }
  NodeShare share{.first_rank = options.node * (ranks / nodes), .ranks = ranks / nodes};
  if (ranks > 1) {
    ASSAY_ASSIGN_OR_RETURN(const MeetingPlace place, MeetingPlaceOf(options));
    share.rank_variables = [=](int rank) { return RankVariables(place, rank, ranks, nodes); };
  }
  return share;
}

Result<job::Plan> ReadPlan(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonFile(path));
  Result<job::Plan> plan = job::PlanFromJson(json);
  return plan.ok() ? plan : plan.status().WithContext(path);
}

void SaySamples(const LineWriter& writer, const std::map<std::string, std::vector<double>>& columns) {
  constexpr size_t kBlock = 8;  // a line of about 2 KiB
  const auto time = columns.find("time_s");
  const size_t count = time == columns.end() ? 0 : time->second.size();
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = std::min(count, begin + kBlock);
    AgentSamples block;
    for (const auto& [name, values] : columns) {
      block.columns[name].assign(values.begin() + static_cast<ptrdiff_t>(begin),
                                 values.begin() + static_cast<ptrdiff_t>(end));
    }
    writer.Say(std::move(block));
  }
}

/// What came of the ranks beyond the first, whose events have been told, and how all ended.
void SayReport(const LineWriter& writer, NodeReport report) {
  SaySamples(writer, report.samples);
  for (size_t i = 0; i < report.ranks.size(); ++i) {
    RankReport& rank = report.ranks[i];
    const int64_t number = report.first_rank + static_cast<int64_t>(i);
    for (size_t e = 0; i > 0 && e < rank.record.events.size(); ++e) {
      writer.Say(AgentEvent{number, rank.record.event_seconds[e], std::move(rank.record.events[e])});
    }
    writer.Say(AgentRankEnded{number, rank.end_time, rank.end, rank.record.stderr_tail});
  }
  writer.Say(AgentEnded{report.memory, report.stood_still_seconds, report.cpu_wait_seconds});
}

class LiveTeller {
 public:
  explicit LiveTeller(const LineWriter& writer) : writer_(writer) {}
  void operator()(const measure::LiveSample& sample) {
    constexpr double kPeriodSeconds = 1;
    if (const double now = MonotonicSeconds(); now - told_at_ >= kPeriodSeconds) {
      told_at_ = now;
      writer_.Say(AgentLive{sample});
    }
  }

 private:
  const LineWriter& writer_;
  double told_at_ = 0;
};

/// kAborted when a rank failed, which has been told then.
Status RunShare(const job::Plan& plan, const NodeShare& share, LaunchOptions launch, const std::string& plan_file,
                const LineWriter& writer) {
  ASSAY_ASSIGN_OR_RETURN(const std::string worker, FindWorker());
  double start = 0;
  launch.on_event = [&](const job::Event& event) {
    writer.Say(AgentEvent{share.first_rank, MonotonicSeconds() - start, event});
  };
  launch.on_tick = LiveTeller(writer);
  const auto nvml = job::TrainingOf(plan).device == "cpu" ? nullptr : measure::Nvml::Load();
  NodeRun run(plan, share, launch);
  writer.Say(AgentStarted{share.first_rank, share.ranks, UnixSeconds(), DescribeNode(nvml.get())});
  start = MonotonicSeconds();
  ASSAY_RETURN_IF_ERROR(run.Start(worker, plan_file));
  ASSAY_RETURN_IF_ERROR(run.Wait());
  NodeReport report = run.Report();
  const bool all_done = std::ranges::all_of(report.ranks, &RankReport::succeeded);
  SayReport(writer, std::move(report));
  return all_done ? Status::Ok() : Status::Aborted("a rank failed");
}

/// Where no pipe leads to the controller: ends this process, and its ranks with it, when the file has not changed for a
/// minute, or is empty, or is not there any more. Only changes count, whatever its clock says.
void EndWhenUntouched(const std::string& file) {
  constexpr double kSilenceSeconds = 60;
  constexpr int kMostAbsent = 3;  // a shared folder may not show a file for a moment
  std::thread([file] {
    struct stat seen = {};
    double changed_at = MonotonicSeconds();
    int absent = 0;
    while (MonotonicSeconds() - changed_at < kSilenceSeconds) {
      struct stat now = {};
      const bool there = ::stat(file.c_str(), &now) == 0;
      absent = !there && errno == ENOENT && seen.st_mtim.tv_sec != 0 ? absent + 1 : 0;
      if ((there && now.st_size == 0) || absent >= kMostAbsent) {
        break;
      }
      if (there && (now.st_mtim.tv_sec != seen.st_mtim.tv_sec || now.st_mtim.tv_nsec != seen.st_mtim.tv_nsec)) {
        seen = now;
        changed_at = MonotonicSeconds();
      }
      std::this_thread::sleep_for(std::chrono::seconds(2));
    }
    std::raise(SIGTERM);
  }).detach();
}

Status Run(const AgentOptions& options) {
  if (options.describe) {
    fmt::print("{}\n", DumpJson(DescribeNode(measure::Nvml::Load().get())));
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const job::Plan plan, ReadPlan(options.plan));
  ASSAY_ASSIGN_OR_RETURN(const NodeShare share, ShareOf(options, job::TrainingOf(plan)));
  ASSAY_ASSIGN_OR_RETURN(const LineWriter writer,
                         LineWriter::Open(options, options.node < 0 ? share.first_rank : options.node));
  const Status status = RunShare(plan, share, options.launch, options.plan, writer);
  if (!status.ok() && status.code() != ErrorCode::kAborted) {
    writer.Say(AgentRefused{status.message()});
  }
  return status;
}

int Main(int argc, char** argv) {
  CLI::App app("Runs the ranks of a plan that are this machine's; a launcher of assay starts it.", "assay-agent");
  app.set_version_flag("--version", fmt::format("assay-agent {} (commit {})", kVersion, kCommit));
  AgentOptions options;
  app.add_option("--plan", options.plan, "What the ranks carry out")->type_name("FILE");
  app.add_flag("--describe", options.describe, "Only say what machine this is, as JSON");
  app.add_option("--lines", options.lines, "Write to a file there, not to standard output")->type_name("FOLDER");
  app.add_option("--node", options.node, "Which of the plan's machines this is; else RANK says which rank is run");
  app.add_option("--meet", options.meet, "Where the ranks of all machines meet")->type_name("HOST:PORT");
  app.add_option("--job", options.job, "Ranks of another job are refused at the meeting place")->type_name("NAME");
  app.add_option("--alive", options.alive, "End when nobody has touched it for a minute, or it is empty")
      ->type_name("FILE");
  app.add_option("--sample-hz", options.launch.sample_hz, "Samples a second")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  InstallInterruptHandler();
  std::signal(SIGPIPE, SIG_IGN);
  job::EndWithController();
  if (!options.alive.empty()) {
    EndWhenUntouched(options.alive);
  }
  const Status status = Run(options);
  if (!status.ok() && status.code() != ErrorCode::kAborted) {
    fmt::print(stderr, "assay-agent: {}\n", OneLine(status.message()));
  }
  return ExitCode(status);
}

}  // namespace
}  // namespace assay::launch

int main(int argc, char** argv) {
  return assay::launch::Main(argc, argv);
}
