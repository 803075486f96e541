// The Experiment interface: what can be asked of an experiment before, and after, a worker ran it.
//
// Adding an experiment is one file that implements this interface and one row in catalogue.cc.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "experiment/presentation.h"
#include "job/plan.h"
#include "job/run_record.h"
#include "space/domain.h"
#include "space/entity.h"

namespace assay::experiment {

/// A property that a point of this experiment may have.
struct PropertySpec {
  std::string name;
  space::Domain domain;
  bool required = false;
  space::Value default_value;  ///< of an optional property
  std::string unit;            ///< empty: none
  std::string description;     ///< one line
  /// What more there is to say, a line each, for example of what each value means.
  std::vector<std::string> notes = {};
  bool own = false;  ///< ours; the reference does not have it
  /// Of the domain, what this version can do; empty: all of it.
  std::vector<space::Value> supported = {};
  /// Of a property whose text is a name that this knows, or a path: an existing path is made absolute, so that the same
  /// relative path in two folders is two points.
  bool (*is_name)(std::string_view text) = nullptr;
  Shown shown = {};
};

/// Whose definition a target's value follows.
enum class Definition {
  kReference,  ///< the reference's formula, also where it is known to be wrong
  kExact,      ///< counted or measured by us
};

/// A value that an experiment yields for a valid point.
struct TargetSpec {
  std::string name;
  std::string unit;  ///< empty: none
  Definition definition = Definition::kExact;
  std::string description;  ///< one line: the formula, or what is measured
  /// Of several that are the same quantity the first exact one that was measured counts, then the reference's first.
  Quantity quantity = Quantity::kOther;
  std::string shown_unit = {};  ///< of kThroughput, for people: "real tokens/s"; empty: `unit`
};

/// Where a plan may read and keep files.
struct PlanContext {
  std::string share_dir = {};    ///< read-only data of the project; empty: ShareDirectory()
  std::string cache_dir = {};    ///< tokenised data sets and file hashes; empty: UserCacheDirectory()
  int64_t threads = 0;           ///< CPU threads a worker may use; 0: all
  std::string trace_dir = {};    ///< where the run's trace is written; empty: none
  std::string elsewhere = {};    ///< a name of the machines where workers run, which are not this one; empty: here
  int64_t threads_per_rank = 0;  ///< that a launcher sets aside elsewhere
  std::map<std::string, std::string> model_folders = {};  ///< by the name of a model that a folder stands for here
  std::string data_folder = {};  ///< whose NAME.jsonl is the data set NAME, where there is one; empty: none

  bool runs_here() const { return elsewhere.empty(); }

  /// The folders with their defaults.
  std::string ShareFolder() const;
  /// The folder or file that stands for a name here, else the name itself.
  std::string ModelNamed(const std::string& name) const;
  std::string DataNamed(const std::string& id) const;
  std::string CacheFolder() const;
};

/// A run whose steps a point's own are held against. It is made once for each plan of its kind and kept in a file.
struct ReferenceRun {
  job::Plan work;
  std::string cache_dir;  ///< where its steps are kept, under a name made of `work` and `key`
  std::string key = {};   ///< what else decides them: the model's hash
};

/// What is kept of each of its steps.
struct ReferenceStep {
  double loss = 0;
  double grad_norm = 0;
};

/// What utilisation is held against: the fastest matrix products of the machine.
struct CeilingNeed {
  std::string dtype;    ///< float32 | bfloat16 | float16
  int64_t threads = 0;  ///< of the CPU that all ranks have together; 0: all
  int64_t devices = 1;  ///< that have such a ceiling each: GPUs; 1: the CPU
  bool on_gpu = false;
  std::string cache_dir;  ///< where ceilings are kept
};

/// What a worker must do for one point, and what is known of it before it starts.
struct RunPlan {
  job::Plan work;
  std::optional<ReferenceRun> reference;
  std::optional<CeilingNeed> ceiling;
  double ceiling_tflops = 0;                      ///< what was measured for it; 0: nothing
  std::vector<ReferenceStep> reference_steps;     ///< of the reference, when there is one, once it was made
  std::map<std::string, std::string> provenance;  ///< model and data hashes, weights, data set
  double seconds = 0;                             ///< that making the plan took
};

/// Target values of a run.
struct Measured {
  std::map<std::string, space::Value> properties;
  std::map<std::string, std::string> units;
  std::map<std::string, std::vector<double>> series;
};

/// Whether a rule forbids a point. An empty reason: it may run.
struct Verdict {
  std::string reason;
  bool valid() const { return reason.empty(); }
};

/// How often a point is run to be measured once.
struct Runs {
  int64_t count = 1;  ///< of the same plan, one after another
  /// Measure judges all of them, however they ended. Else all must end as done, and the first that does not is what the
  /// point comes to.
  bool of_any_end = false;
};

/// What an experiment is, as data: nothing but it knows the names in it.
struct Declaration {
  std::string id;             ///< finetune_full_benchmark-v1.0.0
  std::string description;    ///< one line
  std::string actuator = {};  ///< ado's, whose experiment this repeats; empty: none
  std::string method = {};    ///< what tells it from its siblings in a table: "lora"; empty: the id
  bool is_baseline = false;   ///< its siblings are held against it
  std::vector<PropertySpec> properties = {};
  std::vector<TargetSpec> targets = {};
  Runs runs = {};
  ReportSections report = {};
};

/// Immutable; safe from several threads. `point` is always complete: every property has a canonical value (see
/// CompletePoint).
class Experiment {
 public:
  explicit Experiment(Declaration declaration) : declaration_(std::move(declaration)) {}
  virtual ~Experiment() = default;

  const Declaration& declaration() const { return declaration_; }
  const std::string& id() const { return declaration_.id; }
  const std::string& description() const { return declaration_.description; }
  const std::vector<PropertySpec>& properties() const { return declaration_.properties; }
  const std::vector<TargetSpec>& targets() const { return declaration_.targets; }

  /// The rules that make a point invalid before anything is launched.
  virtual Verdict Check(const space::Entity& point) const = 0;
  /// Whether what the point asks for can be had: values that this version supports, a model and a data set that exist.
  /// Reads little; an error is the user's mistake.
  virtual Status CheckInputs(const space::Entity& point, const PlanContext& context) const = 0;
  /// Hashes of what a result at this point depends on beside the machine: model_hash, and of experiments that read data
  /// data_hash and tokenizer_hash, as Plan puts them into the provenance. Fast while the files stay as they are. An
  /// error: they cannot be read.
  virtual Result<std::map<std::string, std::string>> Contents(const space::Entity& point,
                                                              const PlanContext& context) const = 0;
  /// Resolves names to files and prepares the data; what CheckInputs refuses, this refuses too. An error is the point's
  /// failure; by its code (kNotFound, kInvalidArgument, kUnsupported, ...) the user's mistake. kFailedPrecondition: no
  /// run can ever do what the point asks for of its model, which makes the point invalid.
  virtual Result<RunPlan> Plan(const space::Entity& point, const PlanContext& context) const = 0;
  /// The targets of the runs that declaration().runs asks for. An error says why they cannot be had (no step was made,
  /// a value is NaN); kFailedPrecondition: a run did something else than the point asks for, which makes the point
  /// invalid: the experiment's gate.
  virtual Result<Measured> Measure(const space::Entity& point, const RunPlan& plan,
                                   std::span<const job::RunRecord> runs) const = 0;

 private:
  Declaration declaration_;
};

/// Those that can be asked, as catalogue.h lists them or a test makes them up.
using Experiments = std::span<const Experiment* const>;

/// The spec of property `name`, or nullptr.
const PropertySpec* FindProperty(const Experiment& experiment, std::string_view name);
/// The first property with that role, or nullptr.
const PropertySpec* FindProperty(const Experiment& experiment, Role role);

/// The targets of `experiments` that are this quantity: exact ones first, else in their order.
std::vector<const TargetSpec*> TargetsOf(Experiments experiments, Quantity quantity);

/// kUnsupported for the first value of `point` that this version cannot do: "distributed_backend=FSDP is not supported
/// yet by ...: leave it at None".
Status CheckSupported(const Experiment& experiment, const space::Entity& point);

}  // namespace assay::experiment
