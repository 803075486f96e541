// Numbers as domains compare them.
#pragma once

#include <optional>

#include "space/entity.h"

namespace assay::space {

/// `value` rounded to 10 decimals, so that 0.1 + 0.2 and 0.3 are one number.
double RoundTo10Decimals(double value);

/// The number in `value`; nothing for None, a bool, text, and numbers that are not finite.
std::optional<double> NumberOf(const Value& value);

/// `number` as it stands in ids: rounded, and an integer when it has no fraction.
Value NumberValue(double number);

}  // namespace assay::space
