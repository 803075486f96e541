#include "cli/object_decorators.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/file_descriptor.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "storage/decorator/recording_store.h"

namespace assay::cli {
namespace {

using storage::FaultRule;
using storage::LatencyHistogram;
using storage::LatencyModel;
using storage::StoreCounts;

constexpr char kWrappingGroup[] = "Wrapping";

Result<double> ParseNumber(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0)) {
    return Status::InvalidArgument(fmt::format("'{}' is no number", text));
  }
  return value;
}

/// MEDIAN[,SIGMA[,BYTES]]
Result<LatencyModel> ParseLatency(const std::string& text) {
  const std::vector<std::string> parts = Split(text, ',');
  if (parts.empty() || parts.size() > 3) {
    return Status::InvalidArgument(fmt::format("'{}' is not MEDIAN[,SIGMA[,BYTES]]: write 30ms or 30ms,0.5", text));
  }
  LatencyModel model{.sigma = 0};
  ASSAY_ASSIGN_OR_RETURN(model.median_seconds, ParseSeconds(parts[0]));
  if (parts.size() > 1) {
    ASSAY_ASSIGN_OR_RETURN(model.sigma, ParseNumber(parts[1]));
  }
  if (parts.size() > 2) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t bytes, ParseBytes(parts[2]));
    model.bytes_per_s = static_cast<double>(bytes);
  }
  return model;
}

/// KIND:RATE[:OPERATION]
Result<FaultRule> ParseFault(const std::string& text) {
  using Kind = FaultRule::Kind;
  const std::map<std::string, Kind> kinds = {
      {"refuse", Kind::kRefuse}, {"lose-answer", Kind::kLoseAnswer}, {"flip-bit", Kind::kFlipBit}};
  std::vector<std::string> parts = Split(text, ':');
  const bool complete = parts.size() == 2 || parts.size() == 3;
  parts.resize(3);
  const auto kind = kinds.find(parts[0]);
  const Result<double> rate = ParseNumber(parts[1]);
  if (!complete || kind == kinds.end() || !rate.ok() || *rate > 1) {
    return Status::InvalidArgument(
        fmt::format("'{}' is not KIND:RATE[:OPERATION] with refuse, lose-answer or flip-bit and a rate up to 1: write "
                    "refuse:0.05 or lose-answer:0.1:write",
                    text));
  }
  return FaultRule{.kind = kind->second, .operation = parts[2], .rate = *rate};
}

/// For CLI11: empty where `text` can be read.
template <typename Parse>
auto Readable(const Parse& parse) {
  return [parse](const std::string& text) { return parse(text).status().message(); };
}

std::vector<std::string> Quantiles(const LatencyHistogram& histogram) {
  std::vector<std::string> cells;
  for (const double q : {0.5, 0.9, 0.99}) {
    cells.push_back(histogram.count() == 0 ? "-" : FormatSeconds(histogram.Quantile(q)));
  }
  return cells;
}

std::string RequestTable(const StoreCounts& counts) {
  TextTable requests({"request", "status", "count"});
  for (const auto& [kind, count] : counts.requests) {
    requests.AddRow(
        {kind.first, kind.second == 0 ? "no answer" : fmt::format("{}", kind.second), fmt::format("{}", count)});
  }
  TextTable latencies({"latency", "p50", "p90", "p99"});
  for (const auto& [name, histogram] :
       {std::pair{"to the first byte", &counts.first_byte_latency}, std::pair{"to the end", &counts.request_latency}}) {
    std::vector<std::string> cells = Quantiles(*histogram);
    cells.insert(cells.begin(), name);
    latencies.AddRow(std::move(cells));
  }
  return requests.Render() + latencies.Render();
}

std::string OperationTable(const StoreCounts& counts) {
  TextTable operations({"operation", "calls", "errors", "bytes", "p50", "p90", "p99"});
  for (const auto& [name, of_one] : counts.operations) {
    std::vector<std::string> cells = Quantiles(of_one.latency);
    cells.insert(cells.begin(), {name, fmt::format("{}", of_one.calls), fmt::format("{}", of_one.errors),
                                 FormatBytes(static_cast<double>(of_one.bytes))});
    operations.AddRow(std::move(cells));
  }
  return operations.Render();
}

std::string TextOf(const std::string& name, const StoreCounts& counts) {
  const auto bytes = [](int64_t count) { return FormatBytes(static_cast<double>(count)); };
  std::string text = fmt::format("{}: {} asked, {} received, {} sent; {} retries, {} reissues, {} connections\n", name,
                                 bytes(counts.bytes_asked), bytes(counts.bytes_received), bytes(counts.bytes_sent),
                                 counts.retries, counts.reissues, counts.connections);
  text += OperationTable(counts);
  return counts.requests.empty() ? text : text + RequestTable(counts);
}

}  // namespace

void StoreDecorators::AddStatsTo(CLI::App& app) {
  stats_flag_ =
      app.add_flag("--stats{table}", stats_, "Print what was asked of the stores afterwards; --stats=json as JSON")
          ->check(CLI::IsMember({"table", "json"}))
          ->type_name("")
          ->group(kWrappingGroup);
}

void StoreDecorators::AddBenchTo(CLI::App& app) {
  files_too_ = true;
  stats_ = "table";
  AddStatsTo(app);
  app.add_option("--latency", latency_,
                 "Let every operation begin so much later: the median, the spread of its logarithm [0], bytes a second "
                 "of an operation")
      ->check(Readable(ParseLatency))
      ->type_name("MEDIAN[,SIGMA[,BYTES]]")
      ->group(kWrappingGroup);
  app.add_option_function<std::vector<std::string>>(
         "--fault",
         [this](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             faults_.push_back(*ParseFault(text));
           }
         },
         "Let operations fail at this rate: refuse, lose-answer (done, and said to have failed), flip-bit; may be "
         "repeated")
      ->check(Readable(ParseFault))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(1)
      ->type_name("KIND:RATE[:OPERATION]")
      ->group(kWrappingGroup);
  app.add_option("--seed", seed_, "Of --latency and --fault")->capture_default_str()->group(kWrappingGroup);
  app.add_option("--record", record_path_, "Write a line of JSON for every operation")
      ->type_name("FILE")
      ->group(kWrappingGroup);
}

std::shared_ptr<storage::StoreCounters> StoreDecorators::CountersOf(const storage::StoreUri& uri) {
  std::shared_ptr<storage::StoreCounters>& counters = counters_[fmt::format("{}://{}", uri.scheme, uri.bucket)];
  if (!counters) {
    counters = std::make_shared<storage::StoreCounters>();
  }
  return counters;
}

void StoreDecorators::Observe(const storage::StoreUri& uri, storage::StoreOptions& options) {
  if (!stats_.empty() && IsWrapped(uri)) {
    options.observer = CountersOf(uri);
  }
}

Result<std::shared_ptr<storage::ObjectStore>> StoreDecorators::Wrap(const storage::StoreUri& uri,
                                                                    std::shared_ptr<storage::ObjectStore> store) {
  if (!IsWrapped(uri)) {
    return store;
  }
  if (!latency_.empty()) {
    ASSAY_ASSIGN_OR_RETURN(LatencyModel model, ParseLatency(latency_));
    model.seed = seed_;
    store = std::make_shared<storage::LatencyStore>(std::move(store), model);
  }
  if (!faults_.empty()) {
    store = std::make_shared<storage::FaultStore>(std::move(store), faults_, seed_);
  }
  if (!stats_.empty()) {
    store = std::make_shared<storage::CountingStore>(std::move(store), CountersOf(uri));
  }
  return record_path_.empty() ? store : Record(std::move(store));
}

Result<std::shared_ptr<storage::ObjectStore>> StoreDecorators::Record(
    std::shared_ptr<storage::ObjectStore> store) const {
  auto file = std::make_shared<FileDescriptor>(OpenFile(record_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC));
  if (!file->valid()) {
    return ErrnoStatus(errno, "write", record_path_);
  }
  const auto sink = [file = std::move(file), path = record_path_, failed = false](std::string_view line) mutable {
    const std::string text = std::string(line) + '\n';
    if (!failed && !WriteAll(file->get(), std::as_bytes(std::span(text)))) {
      failed = true;
      fmt::print(stderr, "assay object: {}: the record ends here\n", ErrnoStatus(errno, "write", path).message());
    }
  };
  return std::shared_ptr<storage::ObjectStore>(std::make_shared<storage::RecordingStore>(std::move(store), sink));
}

Status StoreDecorators::Counted(const std::function<Status()>& verb) const {
  Status status = verb();
  const bool asked = stats_flag_ != nullptr && stats_flag_->count() > 0;
  if (asked || (status.ok() && !stats_.empty())) {
    Print();
  }
  return status;
}

void StoreDecorators::Print() const {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, counters] : counters_) {
    const StoreCounts counts = counters->Snapshot();
    if (stats_ == "json") {
      json[name] = counts.ToJson();
    } else {
      fmt::print(stderr, "{}", TextOf(name, counts));
    }
  }
  if (stats_ == "json") {
    fmt::print(stderr, "{}", DumpJsonPretty(json));
  }
}

}  // namespace assay::cli
