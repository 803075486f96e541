// A request under the model: its fate, applied to what the dialect answers.
#pragma once

#include <functional>
#include <memory>

#include "objectserver/context.h"
#include "objectserver/model/model.h"

namespace assay::objectserver {

class Liar;

/// Wraps `routed.exchange` so that it meets `fate`. The dialect words the errors, `liar` (null where the profile knows
/// no lies) tells the lies; both must outlive it.
std::unique_ptr<http::Exchange> ApplyFate(Routed routed, const RequestFate& fate, Dialect& dialect, Liar* liar,
                                          const Notes& notes);

}  // namespace assay::objectserver
