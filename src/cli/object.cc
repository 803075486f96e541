// assay object: objects in buckets, and the server to test against. One file a verb below it.
#include "cli/object_verb.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

constexpr Verb kObjectVerbs[] = {
    {"ls", "List what is under a prefix", &AddObjectLs},
    {"stat", "Print what the store says of an object", &AddObjectStat},
    {"get", "Fetch objects into files", &AddObjectGet},
    {"put", "Write files as objects", &AddObjectPut},
    {"cp", "Copy objects and folders from anywhere to anywhere", &AddObjectCp},
    {"sync", "Make a folder hold what another one does, copying what differs", &AddObjectSync},
    {"rm", "Remove an object, or all under a prefix", &AddObjectRm},
    {"du", "Count objects and bytes, below each prefix", &AddObjectDu},
    {"mb", "Make a bucket", &AddObjectMb},
    {"rb", "Remove a bucket", &AddObjectRb},
    {"cat", "Print an object, or a range of it", &AddObjectCat},
    {"presign", "Make a URL that lets its holder read or write an object", &AddObjectPresign},
    {"uploads", "List or abort unfinished uploads", &AddObjectUploads},
    {"verify", "Read objects again and check them", &AddObjectVerify},
    {"bench", "Measure what a store moves", &AddObjectBench},
    {"serve", "Serve a folder or memory as S3, Google Cloud Storage and OCI", &AddObjectServe},
};

}  // namespace

Action AddObject(CLI::App& app) {
  return AddVerbs(app, kObjectVerbs);
}

}  // namespace assay::cli
