#pragma once

std::string greeting();
