// Declares what c10d's headers use of the gloo inside libtorch, whose own headers the torch wheel lacks.
#pragma once

#include <chrono>
#include <memory>

namespace gloo {
namespace transport {
class UnboundBuffer;
}
class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};
}  // namespace gloo
