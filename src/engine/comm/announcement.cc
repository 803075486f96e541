#include "engine/comm/announcement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace assay::engine {

Announcement announcement_of(const Call& call) {
  const Call& named = call.named();
  Announcement announcement{};
  announcement.number = named.number;
  announcement.step = call.number;
  announcement.kind = named.kind;
  announcement.op = named.op;
  announcement.dtype = named.full.defined() ? static_cast<int8_t>(named.full.scalar_type()) : int8_t{-1};
  announcement.root = named.kind == CallKind::kBroadcast ? named.peer : -1;
  announcement.elements = named.full.defined() ? named.full.numel() : 0;
  announcement.label_hash = std::hash<std::string>{}(named.label);
  const size_t length = std::min(named.label.size(), kLabelBytes - 1);
  std::memcpy(announcement.label, named.label.data(), length);
  return announcement;
}

std::string describe(const Announcement& announcement) {
  std::string text = fmt::format("{} of {}", to_string(announcement.kind), announcement.label);
  if (announcement.dtype >= 0) {
    text += fmt::format(" ({} elements of {}{})", announcement.elements,
                        c10::toString(static_cast<at::ScalarType>(announcement.dtype)),
                        announcement.op == ReduceOp::kSum ? "" : fmt::format(", {}", to_string(announcement.op)));
  }
  return announcement.root < 0 ? text : fmt::format("{} from rank {}", text, announcement.root);
}

void check_same_run(const Announcement& own, const Announcement& other, int rank) {
  if (own.run != other.run) {
    throw CommError(fmt::format(
        "where rank {} was, a rank of another run answers: rank {} has ended, and its port was given to that one", rank,
        rank));
  }
}

std::string describe_mismatch(std::string_view group, int a_rank, const Announcement& a, int b_rank,
                              const Announcement& b) {
  return fmt::format("the ranks do not call the same in collective {}{}{}: rank {} calls {}, rank {} calls {}",
                     a.number, group.empty() ? "" : " of group ", group, a_rank, describe(a), b_rank, describe(b));
}

bool same_call(const Announcement& a, const Announcement& b) {
  return a.number == b.number && a.step == b.step && a.kind == b.kind && a.op == b.op && a.dtype == b.dtype &&
         a.root == b.root && a.elements == b.elements && a.label_hash == b.label_hash;
}

}  // namespace assay::engine
