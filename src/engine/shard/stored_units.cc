#include "engine/shard/stored_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "engine/shard/flat_group.h"
#include "engine/shard/flat_layout.h"

namespace assay::engine {
namespace {

struct OwnedParameter {
  ParameterRef parameter;
  int64_t unit = 0;
};

std::vector<StoredUnit> as_they_are(const std::vector<ParameterUnit>& units) {
  std::vector<StoredUnit> stored;
  for (const ParameterUnit& unit : units) {
    stored.push_back(
        {.name = unit.name, .parameters = unit.parameters, .readers = {static_cast<int64_t>(stored.size())}});
  }
  return stored;
}

/// Parameters of one kind; one that is larger than a chunk has its own.
void append_chunks(const ShardContext& context, const std::vector<OwnedParameter>& parameters,
                   std::vector<StoredUnit>& chunks) {
  std::vector<int64_t> places;
  std::ranges::transform(parameters, std::back_inserter(places),
                         [](const OwnedParameter& p) { return FlatLayout::place_of(p.parameter.tensor->numel()); });
  const bool divided = FlatGroup::is_divided(context, parameters.front().parameter);
  const ChunkSize size = search_chunk_size(places, *context.policy.chunks,
                                           FlatLayout::kAlignment * context.ranks_of(divided).shard_ranks());
  int64_t left = -1;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (places[i] > left) {
      const bool fits = places[i] <= size.elements;
      chunks.push_back(
          {.elements = fits && !size.keep_gathered ? size.elements : 0, .keep_gathered = size.keep_gathered});
      left = fits ? size.elements : places[i];
    }
    left -= places[i];
    StoredUnit& chunk = chunks.back();
    chunk.parameters.push_back(parameters[i].parameter);
    if (chunk.readers.empty() || chunk.readers.back() != parameters[i].unit) {
      chunk.readers.push_back(parameters[i].unit);
    }
  }
}

std::vector<StoredUnit> in_chunks(const ShardContext& context, const std::vector<ParameterUnit>& units) {
  std::map<FlatKind, std::vector<OwnedParameter>> by_kind;
  for (size_t u = 0; u < units.size(); ++u) {
    for (const ParameterRef& p : units[u].parameters) {
      by_kind[flat_kind(context, p)].push_back({p, static_cast<int64_t>(u)});
    }
  }
  std::vector<StoredUnit> chunks;
  for (const auto& [kind, parameters] : by_kind) {
    append_chunks(context, parameters, chunks);
  }
  std::ranges::stable_sort(chunks, {}, [](const StoredUnit& chunk) { return chunk.readers.front(); });
  for (size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].name = fmt::format("chunk {}", i);
  }
  return chunks;
}

void add_reader(StoredUnit& stored, int64_t unit) {
  if (!std::ranges::binary_search(stored.readers, unit)) {
    stored.readers.insert(std::ranges::upper_bound(stored.readers, unit), unit);
  }
}

}  // namespace

StoredUnits store_units(const ShardContext& context, const std::vector<ParameterUnit>& units) {
  StoredUnits result;
  result.units = context.policy.chunks ? in_chunks(context, units) : as_they_are(units);
  std::vector<std::vector<int64_t>> own(units.size());
  for (size_t s = 0; s < result.units.size(); ++s) {
    for (const int64_t reader : result.units[s].readers) {
      own[static_cast<size_t>(reader)].push_back(static_cast<int64_t>(s));
    }
  }
  result.reads = own;
  for (size_t u = 0; u < units.size(); ++u) {
    for (const int64_t owner : units[u].also_uses) {
      for (const int64_t s : own[static_cast<size_t>(owner)]) {
        StoredUnit& stored = result.units[static_cast<size_t>(s)];
        stored.shared = true;
        add_reader(stored, static_cast<int64_t>(u));
        if (!std::ranges::count(result.reads[u], s)) {
          result.reads[u].push_back(s);
        }
      }
    }
  }
  return result;
}

}  // namespace assay::engine
