// Real consecutive passages of the corpus, parted into a beginning and its continuation.
#pragma once

#include <string>
#include <vector>

#include "data/corpus.h"

namespace assay::data {

/// The beginning of a passage, cut between two words, and what follows it up to the end of a sentence.
struct Passage {
  std::string beginning;     ///< 80 to 250 characters
  std::string continuation;  ///< the rest of a passage of some 250 to 2,400 characters
};

/// Cuts the books into passages that follow one another without gap or overlap (headings left out). Lengths vary from
/// passage to passage by a fixed pseudo-random sequence: the same corpus gives the same passages everywhere.
std::vector<Passage> CutIntoPassages(const Corpus& corpus);

}  // namespace assay::data
