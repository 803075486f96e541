#include "engine/train/rank_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json.h"
#include "engine/comm/gather_text.h"
#include "engine/comm/host_map.h"
#include "engine/train/failure.h"
#include "engine/train/fingerprint.h"

namespace assay::engine {
namespace {

using nlohmann::json;

/// Of a plan: what may be another on each machine, but for a budget by which ranks decide what they do together.
constexpr char kBudget[] = "/memory_budget_bytes";
constexpr std::array kOwnOfMachine = {
    "/model_dir",      "/tokens_file",      "/eval_tokens_file",   "/data_uri",   "/data_cache",
    "/tokenizer",      "/train_file",       "/eval_file",          "/output_dir", "/trace_dir",
    "/local_dir",      "/lora/adapter_dir", "/prompt/adapter_dir", "/threads",    kBudget,
    "/timeout_seconds"};

bool budget_decides(const job::TunePlan& plan) {
  return plan.knobs.placement == "auto";
}

/// Placement, and layers to checkpoint.
bool budget_decides(const job::VitPlan&) {
  return true;
}

std::string fingerprint_of_adapter(const std::string& folder) {
  return fingerprint_of_model(folder) + " " + fingerprint_of_file(folder + "/adapter_config.json");
}

/// A file that a plan need not name.
std::string fingerprint_if_named(const std::string& path) {
  return path.empty() ? "" : fingerprint_of_file(path);
}

json contents_of(const job::TunePlan& plan) {
  const std::string& adapter = plan.method == "prompt" ? plan.prompt.adapter_dir : plan.lora.adapter_dir;
  return {{"model", fingerprint_of_model(plan.model_dir)},
          {"rows", fingerprint_of_rows(plan)},
          {"rows to evaluate on", fingerprint_if_named(plan.eval_tokens_file)},
          {"adapter", adapter.empty() ? "" : fingerprint_of_adapter(adapter)}};
}

json contents_of(const job::VitPlan& plan) {
  return {{"model", fingerprint_of_model(plan.model_dir)},
          {"images", fingerprint_if_named(plan.train_file)},
          {"images to evaluate on", fingerprint_if_named(plan.eval_file)}};
}

template <typename Plan>
std::map<std::string, std::string> run_of(const Plan& plan) {
  std::map<std::string, std::string> run;
  const json fields = ToJson(plan).flatten();
  for (const auto& [name, value] : fields.items()) {
    const bool is_own = std::ranges::find(kOwnOfMachine, name) != kOwnOfMachine.end();
    if (!is_own || (name == kBudget && budget_decides(plan))) {
      run[name.substr(1)] = DumpJson(value);
    }
  }
  const json contents = contents_of(plan);
  for (const auto& [name, value] : contents.items()) {
    run[name] = value;
  }
  return run;
}

using Values = std::vector<std::string>;  ///< by rank

/// The value that most ranks have; of several such that of the lowest rank.
const std::string& most_common(const Values& values) {
  return *std::ranges::max_element(values, {},
                                   [&](const std::string& value) { return std::ranges::count(values, value); });
}

/// What differs, or nothing.
std::string difference(const std::string& name, const Values& values) {
  const std::string& common = most_common(values);
  const auto other = std::ranges::find_if(values, [&](const std::string& value) { return value != common; });
  if (other == values.end()) {
    return "";
  }
  std::vector<int> ranks;
  for (size_t rank = 0; rank < values.size(); ++rank) {
    if (values[rank] == *other) {
      ranks.push_back(static_cast<int>(rank));
    }
  }
  const auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
  return fmt::format("{} {} {} {}, rank {} has {}: all ranks of a run need the same plan, model and data",
                     describe_ranks(ranks), ranks.size() == 1 ? "has" : "have", name, shown(*other),
                     std::ranges::find(values, common) - values.begin(), shown(common));
}

/// A fault as other ranks get it: of which kind, and its reason.
std::string describe(std::exception_ptr error, const std::string& what) {
  const job::Ended ended = describe_failure(error, what);
  const char kind = ended.kind == job::EndKind::kInvalid ? 'i' : ended.kind == job::EndKind::kOutOfMemory ? 'm' : 'e';
  return kind + ended.reason;
}

[[noreturn]] void rethrow_agreed(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const StatusError& failed) {
    throw AgreedError(failed.status());
  }
}

ErrorCode code_of(const std::string& fault) {
  return fault[0] == 'i'   ? ErrorCode::kInvalidArgument
         : fault[0] == 'm' ? ErrorCode::kOutOfMemory
                           : ErrorCode::kInternal;
}

template <typename Plan>
void check_same(const Plan& plan, Communicator* world, c10::Device device) {
  if (world == nullptr || world->size() == 1) {
    return;
  }
  std::map<std::string, std::string> own;
  do_on_all_ranks(world, device, "read the model and the data", [&] { own = run_of(plan); });
  std::map<std::string, Values> of_ranks;
  const std::vector<std::string> runs = gather_text(*world, DumpJson(own), "plan, model and data of all ranks");
  for (size_t rank = 0; rank < runs.size(); ++rank) {
    const json run = json::parse(runs[rank]);
    for (const auto& [name, value] : run.items()) {
      of_ranks.try_emplace(name, Values(runs.size())).first->second[rank] = value;
    }
  }
  for (const auto& [name, values] : of_ranks) {
    if (const std::string reason = difference(name, values); !reason.empty()) {
      throw_invalid_argument(reason);
    }
  }
}

}  // namespace

void check_same_run(const job::TunePlan& plan, Communicator* world, c10::Device device) {
  check_same(plan, world, device);
}

void check_same_run(const job::VitPlan& plan, Communicator* world, c10::Device device) {
  check_same(plan, world, device);
}

void throw_unless_done(const PatientWork& work, Communicator* world, const std::string& what) {
  if (work.is_done()) {
    return;
  }
  if (world == nullptr) {
    std::rethrow_exception(work.error());
  }
  const std::vector<int>& failed = work.failed_ranks();
  const bool is_own = std::ranges::find(failed, world->rank()) != failed.end();
  const std::string own = is_own ? describe(work.error(), what) : "";
  const std::vector<std::string> faults = gather_text(*world, own, "why not all ranks could " + what);
  if (is_own) {
    rethrow_agreed(work.error());
  }
  if (failed.empty()) {
    throw AgreedError(Status::Io(
        fmt::format("{} could not {} in {:.0f} s, when others had done so long before: its storage is slow or hangs",
                    describe_ranks(work.given_up_ranks()), what, work.seconds())));
  }
  const std::string& fault = faults[static_cast<size_t>(failed.front())];
  throw AgreedError(
      Status(code_of(fault), fmt::format("rank {} could not {}: {}", failed.front(), what, fault.substr(1))));
}

void do_on_all_ranks(Communicator* world, c10::Device device, const std::string& what,
                     const std::function<void()>& work) {
  if (world == nullptr || world->size() == 1) {
    work();
    return;
  }
  PatientWork own(world, device, what, work, {.ends_at_failure = false});
  own.wait();
  throw_unless_done(own, world, what);
}

void tell_of_failure(Communicator* world, const std::function<std::string()>& where,
                     const std::function<void()>& work) {
  try {
    work();
  } catch (const CommError&) {
    throw;
  } catch (const CannotFit&) {
    throw;
  } catch (const AgreedError&) {
    throw;
  } catch (const std::exception&) {
    const job::Ended ended = describe_failure(std::current_exception(), where());
    if (world != nullptr && ended.kind != job::EndKind::kDiverged) {
      world->give_up(fmt::format("rank {} failed: {}", world->rank(), ended.reason));
    }
    throw;
  }
}

}  // namespace assay::engine
