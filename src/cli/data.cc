// assay data: data sets as shards, in folders and buckets. One file a verb below it.
#include "cli/data_verb.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

constexpr Verb kDataVerbs[] = {
    {"convert", "Make a data set of shards out of files of rows", &AddDataConvert},
    {"synthesize", "Make a data set of shards of rows that are drawn", &AddDataSynthesize},
    {"inspect", "Print what is in a data set of shards", &AddDataInspect},
    {"verify", "Read a data set and say whether it is whole", &AddDataVerify},
    {"count", "Count the objects and bytes under a prefix, and time the listing", &AddDataCount},
    {"cat", "Print samples as they stand, as lines of JSON", &AddDataCat},
    {"read", "Print samples in the order of a training, and go on where it stopped", &AddDataRead},
    {"order", "Print which samples a rank has, in their order", &AddDataOrder},
    {"bench", "Measure how fast samples come", &AddDataBench},
};

}  // namespace

Action AddData(CLI::App& app) {
  return AddVerbs(app, kDataVerbs);
}

}  // namespace assay::cli
