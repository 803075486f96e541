#include "engine/shard/sharded_checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "engine/comm/gather_text.h"
#include "engine/model/remove_file.h"
#include "engine/model/safetensors.h"
#include "engine/model/status_error.h"
#include "engine/shard/patient_work.h"

namespace assay::engine {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr const char* kIndexFile = "index.json";

std::string rank_file(const std::string& folder, int64_t rank) {
  return fmt::format("{}/rank-{:05}.safetensors", folder, rank);
}

std::string piece_key(std::string_view kind, const std::string& name, int64_t begin) {
  return fmt::format("{}/{}@{}", kind, name, begin);
}

/// One group of the engine with what a checkpoint holds of it: this rank's flat shards by kind.
struct SavedGroup {
  const FlatLayout* layout = nullptr;
  std::shared_ptr<const FlatLayout> own_layout;  ///< of a frozen parameter that lies in no group of the engine
  DataRanks ranks;
  int64_t first_file = 0;  ///< that of the shard of rank 0; the other ranks' follow
  std::vector<std::pair<std::string, at::Tensor>> shards;
  std::vector<int64_t>* steps = nullptr;  ///< null when frozen

  /// Of the shards that this rank holds: the only one where all ranks have the whole.
  int64_t shard() const { return layout->ranks() == 1 ? 0 : ranks.shard_rank(); }
  /// Whether this rank is the first to hold it.
  bool writes() const { return ranks.first_replica() && shard() == ranks.shard_rank(); }
};

/// A frozen parameter that every rank has whole.
SavedGroup untouched_group(const ShardContext& context, const ParameterRef& parameter) {
  SavedGroup entry;
  entry.own_layout = std::make_shared<FlatLayout>(
      std::vector<std::pair<std::string, std::vector<int64_t>>>{{parameter.name, parameter.tensor->sizes().vec()}}, 1);
  entry.layout = entry.own_layout.get();
  entry.ranks = context.ranks_of(/*expert=*/false);
  entry.shards.emplace_back("weight", parameter.tensor->view(-1));
  return entry;
}

/// Experts that ranks divide have files of their own, after those of everything else.
int64_t first_file(const ShardContext& context, bool expert) {
  return expert ? context.ranks_of(false).shard_ranks() +
                      context.groups.experts->rank() * context.ranks_of(true).shard_ranks()
                : 0;
}

std::vector<SavedGroup> saved_groups(ShardEngine& engine) {
  std::map<const FlatGroup*, size_t> state_of;
  for (size_t i = 0; i < engine.optimizer().groups().size(); ++i) {
    state_of[engine.optimizer().groups()[i]] = i;
  }
  std::vector<SavedGroup> saved;
  for (const auto& unit : engine.units()) {
    for (const ParameterRef& parameter : unit->untouched) {
      saved.push_back(untouched_group(engine.context(), parameter));
    }
    for (const auto& group : unit->groups) {
      SavedGroup& entry = saved.emplace_back();
      entry.layout = &group->weights.layout();
      entry.ranks = group->weights.ranks();
      entry.first_file = first_file(engine.context(), group->expert);
      entry.shards.emplace_back("weight", group->weights.resting_shard());
      if (const auto found = state_of.find(group.get()); found != state_of.end()) {
        ShardedAdamw::GroupState& state = engine.optimizer().state(found->second);
        entry.shards.emplace_back("first_moment", state.first_moment);
        entry.shards.emplace_back("second_moment", state.second_moment);
        entry.steps = &state.steps;
      }
    }
  }
  return saved;
}

/// What this rank is the first to hold.
void write_own_files(const std::vector<SavedGroup>& groups, const std::string& folder) {
  std::map<int64_t, std::vector<NamedTensor>> by_file;
  for (const SavedGroup& group : groups) {
    if (!group.writes()) {
      continue;
    }
    const int64_t rank = group.shard();
    std::vector<NamedTensor>& tensors = by_file[group.first_file + rank];
    for (const ShardSlice& slice : group.layout->slices(rank)) {
      const std::string& name = group.layout->parameters()[slice.parameter].name;
      for (const auto& [kind, shard] : group.shards) {
        tensors.emplace_back(piece_key(kind, name, slice.in_parameter),
                             shard.narrow(0, slice.in_shard, slice.elements));
      }
    }
  }
  for (const auto& [file, tensors] : by_file) {
    throw_if_error(MakeDirectories(folder));
    write_safetensors(rank_file(folder, file), tensors);
  }
}

/// Of the parameters that this rank has shards of.
json own_parameters(const std::vector<SavedGroup>& groups) {
  json parameters = json::object();
  for (const SavedGroup& group : groups) {
    const auto& all = group.layout->parameters();
    for (size_t i = 0; i < all.size(); ++i) {
      parameters[all[i].name] = {{"shape", all[i].shape},
                                 {"steps", group.steps == nullptr ? 0 : (*group.steps)[i]},
                                 {"pieces", json::array()}};
    }
    for (int64_t rank = 0; rank < group.layout->ranks(); ++rank) {
      for (const ShardSlice& slice : group.layout->slices(rank)) {
        parameters[all[slice.parameter].name]["pieces"].push_back(
            {{"rank", group.first_file + rank}, {"begin", slice.in_parameter}, {"elements", slice.elements}});
      }
    }
  }
  return parameters;
}

/// With the experts of other ranks. All ranks call it.
json all_parameters(const std::vector<SavedGroup>& groups, const ShardContext& context) {
  json parameters = own_parameters(groups);
  if (context.divides_experts()) {
    for (const std::string& of_rank : gather_text(*context.groups.experts, parameters.dump(), "checkpoint index")) {
      parameters.update(json::parse(of_rank));
    }
  }
  return parameters;
}

json index_of(const json& parameters, int64_t ranks, const LossScaler::State& scale) {
  return {{"version", kVersion},
          {"ranks", ranks},
          {"loss_scale",
           {{"scale", scale.scale},
            {"steps_since_overflow", scale.steps_since_overflow},
            {"overflows_left", scale.overflows_left}}},
          {"parameters", parameters}};
}

/// Tensor ranks and stages hold other parts of the model under the same names of files.
void refuse_parts_of_a_model(const ShardContext& context, const std::string& folder) {
  if (context.groups.model != nullptr && context.groups.model->size() > 1) {
    throw StatusError(Status::Unsupported(fmt::format(
        "the checkpoint {}: models divided over tensor ranks or pipeline stages cannot be saved or loaded as shards "
        "(save whole weights, or use a strategy without them)",
        folder)));
  }
}

/// Reads pieces out of the files of a checkpoint, each opened once.
class PieceReader {
 public:
  PieceReader(std::string folder, const json& parameters) : folder_(std::move(folder)), parameters_(parameters) {}

  const json& parameter(const FlatParameter& p) const {
    const auto found = parameters_.find(p.name);
    if (found == parameters_.end()) {
      fail(p, "is not in it");
    }
    if (found->at("shape").get<std::vector<int64_t>>() != p.shape) {
      fail(p, fmt::format("has the shape {} there", found->at("shape").dump()));
    }
    return *found;
  }

  /// target = elements [begin, begin + n) of one kind of the parameter.
  void read(const FlatParameter& p, const std::string& kind, int64_t begin, const at::Tensor& target) {
    int64_t covered = 0;
    for (const json& piece : parameter(p).at("pieces")) {
      const int64_t piece_begin = piece.at("begin");
      const int64_t from = std::max(begin, piece_begin);
      const int64_t to = std::min(begin + target.numel(), piece_begin + piece.at("elements").get<int64_t>());
      if (from >= to) {
        continue;
      }
      const SafetensorsFile& source = file(piece.at("rank"));
      const TensorEntry* entry = source.find(piece_key(kind, p.name, piece_begin));
      if (entry == nullptr) {
        fail(p, fmt::format("has no {} in {}", kind, source.path()));
      }
      target.narrow(0, from - begin, to - from).copy_(source.tensor(*entry).narrow(0, from - piece_begin, to - from));
      covered += to - from;
    }
    if (covered != target.numel()) {
      fail(p, fmt::format("lacks {} of {} elements of its {}", target.numel() - covered, target.numel(), kind));
    }
  }

 private:
  [[noreturn]] void fail(const FlatParameter& p, const std::string& what) const {
    throw StatusError(
        Status::InvalidArgument(fmt::format("loading the checkpoint {}: parameter '{}' {}", folder_, p.name, what)));
  }

  const SafetensorsFile& file(int64_t rank) {
    auto found = files_.find(rank);
    if (found == files_.end()) {
      found = files_.emplace(rank, SafetensorsFile::open(rank_file(folder_, rank))).first;
    }
    return found->second;
  }

  std::string folder_;
  const json& parameters_;
  std::map<int64_t, SafetensorsFile> files_;
};

void load_group(PieceReader& reader, const SavedGroup& group) {
  const auto& parameters = group.layout->parameters();
  for (size_t i = 0; group.steps != nullptr && i < parameters.size(); ++i) {
    (*group.steps)[i] = reader.parameter(parameters[i]).at("steps");
  }
  for (const ShardSlice& slice : group.layout->slices(group.shard())) {
    for (const auto& [kind, shard] : group.shards) {
      reader.read(parameters[slice.parameter], kind, slice.in_parameter,
                  shard.narrow(0, slice.in_shard, slice.elements));
    }
  }
}

json read_index(const std::string& folder) {
  const std::string path = folder + "/" + kIndexFile;
  json index = value_or_throw(ParseJson(value_or_throw(ReadFile(path)), path));
  if (!index.is_object() || index.value("version", 0) != kVersion || !index.contains("parameters")) {
    throw StatusError(Status::InvalidArgument(
        fmt::format("loading the checkpoint {}: {} is not an index of version {}", folder, kIndexFile, kVersion)));
  }
  return index;
}

}  // namespace

void save_sharded(ShardEngine& engine, const std::string& folder) {
  const at::NoGradGuard no_grad;
  engine.last_step();
  const ShardContext& context = engine.context();
  refuse_parts_of_a_model(context, folder);
  const std::vector<SavedGroup> groups = saved_groups(engine);
  const DataRanks ranks = context.ranks_of(/*expert=*/false);
  const bool writes_index = ranks.first_replica() && ranks.shard_rank() == 0;
  // What stood there must not be taken for whole while its files are replaced one by one.
  run_patiently(context, "remove an old index in " + folder, [&] {
    if (writes_index) {
      remove_file(folder + "/" + kIndexFile);
    }
  });
  run_patiently(context, "write shards to " + folder, [&] { write_own_files(groups, folder); });
  const json parameters = all_parameters(groups, context);
  run_patiently(context, "write the index to " + folder, [&] {
    if (writes_index) {
      const json index = index_of(parameters, ranks.shard_ranks(), engine.loss_scaler().state());
      throw_if_error(WriteFileAtomically(folder + "/" + kIndexFile, DumpJsonPretty(index)));
    }
  });
}

void load_sharded(ShardEngine& engine, const std::string& folder) {
  const at::NoGradGuard no_grad;
  engine.last_step();
  refuse_parts_of_a_model(engine.context(), folder);
  const std::vector<SavedGroup> groups = saved_groups(engine);
  run_patiently(engine.context(), "read shards from " + folder, [&] {
    const json index = read_index(folder);
    const json& scale = index.at("loss_scale");
    engine.loss_scaler().restore({scale.at("scale"), scale.at("steps_since_overflow"), scale.at("overflows_left")});
    PieceReader reader(folder, index.at("parameters"));
    for (const SavedGroup& group : groups) {
      load_group(reader, group);
    }
  });
  engine.publish_masters();
}

}  // namespace assay::engine
