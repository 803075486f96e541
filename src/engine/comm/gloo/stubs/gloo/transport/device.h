// Declares what c10d's headers use of the gloo inside libtorch, whose own headers the torch wheel lacks.
#pragma once

namespace gloo::transport {
class Device;
}
