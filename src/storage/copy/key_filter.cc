#include "storage/copy/key_filter.h"

#include <fnmatch.h>
#include <locale.h>

#include <algorithm>

namespace assay::storage {
namespace {

/// While it lives, this thread reads text as UTF-8, so that `?` stands for a character and not for a byte.
class Utf8Text {
 public:
  Utf8Text() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) {
      before_ = ::uselocale(locale_);
    }
  }
  ~Utf8Text() {
    if (locale_ != nullptr) {
      ::uselocale(before_);
      ::freelocale(locale_);
    }
  }
  Utf8Text(const Utf8Text&) = delete;
  Utf8Text& operator=(const Utf8Text&) = delete;

 private:
  locale_t locale_;
  locale_t before_ = nullptr;
};

}  // namespace

bool KeyFilter::Takes(const std::string& key) const {
  if (rules_.empty()) {
    return true;
  }
  const Utf8Text text;
  const auto last = std::find_if(rules_.rbegin(), rules_.rend(), [&key](const Rule& rule) {
    return ::fnmatch(rule.pattern.c_str(), key.c_str(), 0) == 0;
  });
  return last == rules_.rend() || last->include;
}

}  // namespace assay::storage
