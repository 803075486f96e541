// What samplers make of a metric's values.
#pragma once

namespace assay::explore {

/// `amount` on a scale on which equal ratios are equal steps: the logarithm of a positive one, but for a constant, and
/// continued over zero to negative amounts, so that of two amounts the larger is always the larger here.
double RatioScale(double amount);

}  // namespace assay::explore
