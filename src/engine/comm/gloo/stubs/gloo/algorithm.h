// Stands for a header of gloo that the torch wheel lacks; nothing of it is used.
#pragma once
