// What a sample store's file of ado says of the CSV files that are copied into the store.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace assay::samplestore {

/// An experiment whose values are columns of a CSV file.
struct CopiedExperiment {
  std::string identifier;
  std::map<std::string, std::string> properties;  ///< constitutive property to column; empty: the experiment's own
  std::map<std::string, std::string> targets;     ///< target property to column; empty: the experiment's own
  std::string where;                              ///< "store.yaml:12"
};

/// One entry of `copyFrom`.
struct CopiedSource {
  std::string path;       ///< of the CSV file
  std::string id_column;  ///< `identifierColumn`
  std::string generator;  ///< `generatorIdentifier`, or the file's name
  std::vector<CopiedExperiment> experiments;
};

/// Reads the file at `path`, in ado's present form, its older one (constitutivePropertyColumns, propertyMap), or as
/// `ado get samplestore ID -o yaml` prints one. A relative path in it begins at its own folder. kInvalidArgument names
/// the file and the line: another kind of file, nothing that is copied, a source that is no CSV file.
Result<std::vector<CopiedSource>> ReadCopiedSources(const std::string& path);

}  // namespace assay::samplestore
