document.querySelector("rect").setAttribute("width", "90");
