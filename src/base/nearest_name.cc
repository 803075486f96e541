#include <algorithm>
#include <numeric>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace assay {
namespace {

// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours cost one each.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> current(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, current);
  }
  return last[b.size()];
}

}  // namespace

std::string NearestName(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kShortestPrefix = 3;
  const std::string wanted = Lower(name);
  if (wanted.size() >= kShortestPrefix) {
    const auto begins = [&](const std::string& candidate) { return Lower(candidate).starts_with(wanted); };
    if (const auto found = std::find_if(known.begin(), known.end(), begins); found != known.end()) {
      return *found;
    }
  }
  std::string nearest;
  size_t nearest_distance = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(wanted, Lower(candidate));
    if (distance < nearest_distance && distance < candidate.size()) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  return nearest;
}

}  // namespace assay
