#include "storage/copy/tree_merge.h"

#include <string_view>
#include <utility>

namespace assay::storage {
namespace {

std::string_view Below(const ObjectInfo& info, const TreePlace& place) {
  return std::string_view(info.key).substr(place.prefix.size());
}

}  // namespace

TreeMerge::TreeMerge(const TreePlace& source, const TreePlace& target, TreeMergeOptions options)
    : source_(source),
      target_(target),
      options_(std::move(options)),
      from_(*source.store, source.prefix, options_.cancel) {}

Result<ObjectInfo*> TreeMerge::Peek(ObjectStream& stream, const TreePlace& place) const {
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(ObjectInfo* const info, stream.Peek());
    if (info == nullptr) {
      return info;
    }
    const std::string_view key = Below(*info, place);
    if (!key.empty() && (options_.filter.empty() || options_.filter.Takes(std::string(key)))) {
      return info;
    }
    stream.Skip();
  }
}

Result<ObjectInfo*> TreeMerge::PeekTarget(bool source_ended) {
  if (!options_.with_target || (source_ended && !options_.only_target)) {
    return nullptr;
  }
  if (!to_) {
    to_.emplace(*target_.store, target_.prefix, options_.cancel);
  }
  return Peek(*to_, target_);
}

Result<std::optional<TreePair>> TreeMerge::Next() {
  ASSAY_ASSIGN_OR_RETURN(ObjectInfo* const source, Peek(from_, source_));
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(ObjectInfo* const target, PeekTarget(source == nullptr));
    const int order = source == nullptr   ? 1
                      : target == nullptr ? -1
                                          : Below(*source, source_).compare(Below(*target, target_));
    TreePair pair;
    if (source != nullptr && order <= 0) {
      pair.source = std::move(*source);
      from_.Skip();
    }
    if (target != nullptr && order >= 0) {
      pair.target = std::move(*target);
      to_->Skip();
    }
    if (!pair.source && !pair.target) {
      return std::optional<TreePair>();
    }
    if (pair.source || options_.only_target) {
      return std::optional(std::move(pair));
    }
  }
}

}  // namespace assay::storage
