#include "engine/model/split_hooks.h"

#include <string>

namespace assay::engine {

Recomputable SplitProducts::enter(const Recomputable& input, int64_t tokens, std::string_view label) const {
  Recomputable entered(enter(input.value, tokens, label), input.again);
  if (input.again && tokens > 0 && token_parts() > 1) {
    input.again->add_user();
    entered.again =
        c10::make_intrusive<Recompute>([hooks = hooks_, again = input.again, tokens, label = std::string(label)] {
          return hooks->enter_parts(again->take(), tokens, label);
        });
  }
  return entered;
}

}  // namespace assay::engine
