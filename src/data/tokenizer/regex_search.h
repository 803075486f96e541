// Where Oniguruma looks for matches of a pattern that begins with '.*'.
#pragma once

#include "base/status.h"
#include "data/tokenizer/regex_syntax.h"

namespace assay::data {

/// Oniguruma takes what begins with '.*' to match where the search or a line begins, or else nowhere: right, unless an
/// assertion before the '.*' holds further on only. (Where '.' takes newlines it looks where the search begins and, by
/// an oversight, one character on.) Returns `tree` so that it matches just where Oniguruma looks; Unsupported where
/// that cannot be told. `names_groups`: the pattern has named groups, which make the others mere parentheses.
Result<RegexNode> AsSearched(RegexNode tree, bool names_groups);

}  // namespace assay::data
