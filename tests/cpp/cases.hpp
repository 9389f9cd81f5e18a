// The cases that write_cases.py has written: names and numbers, line by line.
#pragma once
#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace cases {

using Numbers = std::vector<double>;

struct Case {
    std::string method;
    std::map<std::string, Numbers> lines;

    const Numbers &operator[](const std::string &name) const { return lines.at(name); }
    std::vector<int64_t> counts(const std::string &name) const {
        return {lines.at(name).begin(), lines.at(name).end()};
    }
};

// One after the other; next() is false at the end.
class Reader {
  public:
    explicit Reader(const char *path) : file_(path) {
        if (!file_) throw std::runtime_error(std::string("cannot read ") + path);
    }

    bool next(Case &found) {
        std::string line;
        found = {};
        while (std::getline(file_, line)) {
            if (line == "end") return true;
            const size_t space = line.find(' ');
            const std::string name = line.substr(0, space);
            if (name == "case")
                found.method = line.substr(space + 1);
            else
                found.lines[name] = numbers(space == std::string::npos ? "" : line.c_str() + space);
        }
        return false;
    }

  private:
    static Numbers numbers(const char *text) {
        Numbers found;
        for (char *end; *text; text = end) {
            found.push_back(std::strtod(text, &end));
            if (end == text) throw std::runtime_error(std::string("not a number: ") + text);
        }
        return found;
    }

    std::ifstream file_;
};

}  // namespace cases
